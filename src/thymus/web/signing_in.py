"""Signing in and out: a browser hands in a token once, and gets a cookie that no script can read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from thymus.web import pages
from thymus.web.callers import SESSION_S, People, check_csrf, cookie_name, find_caller, is_from_elsewhere

router = APIRouter()


@router.get("/login", name="login")
async def login(request: Request) -> Response:
    """The form."""
    return pages.login_page(request)


@router.post("/login")
def sign_in(request: Request, token: Annotated[str, Form(max_length=200)] = "") -> Response:
    """Check the token; whoever is right goes to the inbox."""
    people: People = request.app.state.people
    cookie = None if is_from_elsewhere(request) else people.sign_in(token.strip())
    if cookie is None:
        return pages.login_page(request, failed=True)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        cookie_name(request),
        cookie,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/logout")
def sign_out(request: Request, csrf: Annotated[str, Form(max_length=200)] = "") -> Response:
    """Forget the cookie."""
    found = find_caller(request)
    if found is not None and found.by_cookie:
        check_csrf(found, request, csrf)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer
