"""Connecting the programs that people use: ``thymus install claude-code|claude-desktop|cursor|vscode``.

``surroundings`` says where this runs, ``client`` what is to know of a program and one module a program has it;
``servers`` and ``hooks`` are what is put into its files, ``edits`` puts it there without touching anything else,
``files`` are the disk. ``plan`` finds out what would change, ``diffs`` shows it, ``sightings`` are what ``doctor``
looks at.
"""

from thymus.install.client import Client, Scope
from thymus.install.clients import CLIENTS
from thymus.install.launch import Options
from thymus.install.plan import Change, Plan, carry_out, plan_install, plan_removal
from thymus.install.refusals import InstallError
from thymus.install.surroundings import Surroundings

__all__ = [
    "CLIENTS",
    "Change",
    "Client",
    "InstallError",
    "Options",
    "Plan",
    "Scope",
    "Surroundings",
    "carry_out",
    "plan_install",
    "plan_removal",
]
