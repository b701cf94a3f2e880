"""Who controls a source: organisational domains, providers with many owners, and tools that own nothing.

The organisational domain is the part that one organisation registered (RFC 7489, section 3.2): the public suffix
(publicsuffix.org, with suffixes of the ICANN and of the private section) and one label more.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from thymus.core.provenance import MCP, TOOLS, Source

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_OPEN_WORLD = (
    "bing brave browse browser browsing crawl crawler curl duckduckgo exa extract_url fetch firecrawl get_url goto "
    "google google_search http http_get http_request internet jina kagi load_url navigate open_page open_url "
    "perplexity playwright puppeteer read_page read_url requests rss scrape scraper search searxng selenium serpapi "
    "serper tavily url url_fetch visit visit_page web web_browser web_fetch web_page web_search webfetch webpage "
    "websearch wget wikipedia www youtube "
    "mail email emails gmail outlook imap inbox mailbox messages message sms whatsapp telegram signal slack discord "
    "teams read_mail read_email read_emails read_inbox read_messages get_mail get_email get_emails get_messages "
    "fetch_mail fetch_emails list_emails list_messages search_mail search_emails search_messages check_mail "
    "check_inbox drive gdrive dropbox onedrive sharepoint notion read_file read_document documents "
)
OPEN_WORLD_TOOLS: Final = frozenset(_OPEN_WORLD.split())
"""Tools that hand on what anybody wrote (pages, mail, shared files): its origin owns it, never the tool."""

_PROVIDERS = (
    "gmail.com googlemail.com outlook.com outlook.de outlook.fr outlook.es outlook.it outlook.jp outlook.in "
    "outlook.ie hotmail.com hotmail.co.uk hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl hotmail.se "
    "hotmail.co.jp live.com live.ca live.co.uk live.de live.fr live.in live.it live.nl live.se live.com.au "
    "live.com.mx msn.com passport.com windowslive.com yahoo.com yahoo.ca yahoo.co.id yahoo.co.in yahoo.co.jp "
    "yahoo.co.uk yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.cn yahoo.com.hk yahoo.com.mx yahoo.com.ph "
    "yahoo.com.sg yahoo.com.tr yahoo.com.tw yahoo.com.vn yahoo.de yahoo.dk yahoo.es yahoo.fr yahoo.gr yahoo.ie "
    "yahoo.in yahoo.it yahoo.no yahoo.pl yahoo.ro yahoo.se ymail.com rocketmail.com myyahoo.com aol.com aol.co.uk "
    "aol.de aol.fr aim.com netscape.net icloud.com me.com mac.com privaterelay.appleid.com proton.me protonmail.com "
    "protonmail.ch pm.me tutanota.com tutanota.de tutamail.com tuta.io tuta.com keemail.me fastmail.com fastmail.fm "
    "fastmail.net messagingengine.com sent.com hey.com zoho.com zoho.eu zoho.in zohomail.com zohomail.eu zohomail.in "
    "mail.com email.com usa.com gmx.com gmx.de gmx.net gmx.at gmx.ch gmx.us gmx.co.uk gmx.fr web.de t-online.de "
    "freenet.de arcor.de online.de posteo.de posteo.net mailbox.org yandex.com yandex.ru yandex.by yandex.kz "
    "yandex.ua ya.ru mail.ru bk.ru inbox.ru list.ru internet.ru rambler.ru ukr.net i.ua qq.com foxmail.com 163.com "
    "126.com 139.com 188.com yeah.net sina.com sina.cn sohu.com aliyun.com tom.com 21cn.com naver.com hanmail.net "
    "daum.net kakao.com nate.com docomo.ne.jp ezweb.ne.jp softbank.ne.jp i.softbank.jp rediffmail.com rediff.com "
    "indiatimes.com sify.com orange.fr wanadoo.fr free.fr laposte.net sfr.fr neuf.fr bbox.fr club-internet.fr "
    "numericable.fr libero.it virgilio.it alice.it tin.it tiscali.it tim.it fastwebnet.it poste.it telefonica.net "
    "terra.es ono.com sapo.pt iol.pt clix.pt bol.com.br uol.com.br terra.com.br ig.com.br globo.com wp.pl o2.pl "
    "onet.pl onet.eu interia.pl interia.eu op.pl gazeta.pl vp.pl seznam.cz email.cz centrum.cz volny.cz centrum.sk "
    "azet.sk zoznam.sk freemail.hu citromail.hu abv.bg mail.bg inbox.lv inbox.lt mail.ee hot.ee bluewin.ch hispeed.ch "
    "sunrise.ch chello.at aon.at skynet.be telenet.be ziggo.nl kpnmail.nl planet.nl home.nl hetnet.nl xs4all.nl "
    "telia.com comhem.se bredband.net online.no mail.dk btinternet.com btopenworld.com talktalk.net talk21.com "
    "sky.com virginmedia.com ntlworld.com blueyonder.co.uk tiscali.co.uk plus.net eircom.net comcast.net xfinity.com "
    "verizon.net att.net sbcglobal.net bellsouth.net pacbell.net ameritech.net cox.net charter.net spectrum.net "
    "rr.com twc.com earthlink.net mindspring.com juno.com netzero.net netzero.com optonline.net optimum.net "
    "frontier.com frontiernet.net windstream.net centurylink.net centurytel.net q.com suddenlink.net embarqmail.com "
    "roadrunner.com rogers.com shaw.ca sympatico.ca bell.net telus.net videotron.ca bigpond.com bigpond.net.au "
    "optusnet.com.au iinet.net.au tpg.com.au xtra.co.nz mweb.co.za telkomsa.net vodamail.co.za walla.com walla.co.il "
    "netvision.net.il hushmail.com hush.com lycos.com excite.com mail2world.com inbox.com myself.com runbox.com "
    "riseup.net disroot.org cock.li startmail.com mailfence.com skiff.com duck.com anonaddy.me anonaddy.com addy.io "
    "simplelogin.com simplelogin.co aleeas.com mozmail.com mailinator.com guerrillamail.com sharklasers.com "
    "10minutemail.com temp-mail.org yopmail.com trashmail.com getnada.com maildrop.cc dispostable.com mailnesia.com "
    "throwawaymail.com tempmail.com googlegroups.com yahoogroups.com groups.io freelists.org googleusercontent.com "
    "sendgrid.net amazonses.com mailchimpapp.net mailgun.org mcsv.net onmicrosoft.com zendesk.com freshdesk.com "
    "helpscoutapp.com intercom-mail.com surveymonkeyuser.com hubspotemail.net atlassian.net github.com gitlab.com "
    "google.com docusign.net "
)
PUBLIC_PROVIDERS: Final = frozenset(_PROVIDERS.split())
"""Mail domains at which anybody can get an address, or send for anybody: one domain, many owners."""

_HOSTS = (
    "github.com gitlab.com bitbucket.org codeberg.org sourceforge.net google.com googleusercontent.com dropbox.com "
    "dropboxusercontent.com box.com onedrive.live.com 1drv.ms sharepoint.com notion.so notion.site medium.com "
    "substack.com wordpress.com blogspot.com blogger.com tumblr.com livejournal.com wixsite.com weebly.com reddit.com "
    "x.com twitter.com facebook.com instagram.com linkedin.com tiktok.com youtube.com youtu.be pinterest.com "
    "quora.com stackoverflow.com stackexchange.com wikipedia.org wikimedia.org fandom.com discord.com discord.gg "
    "slack.com telegram.org t.me whatsapp.com wa.me vk.com weibo.com pastebin.com ghostbin.com hastebin.com rentry.co "
    "telegra.ph imgur.com scribd.com slideshare.net issuu.com docdroid.net mega.nz mediafire.com wetransfer.com "
    "trello.com airtable.com typeform.com jotform.com surveymonkey.com eventbrite.com meetup.com craigslist.org "
    "ebay.com etsy.com airbnb.com yelp.com tripadvisor.com huggingface.co pypi.org npmjs.com archive.org arxiv.org "
    "bit.ly tinyurl.com linktr.ee "
)
PUBLIC_HOSTS: Final = frozenset(_HOSTS.split())
"""Web domains whose pages anybody may write."""

_LDH: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_HOST: Final = 253
_NUMBERS: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}")
_ADDRESS: Final = re.compile(r'([^\s@<>()\[\],;:"]{1,64})@([^\s@<>()\[\],;:"]+)')
_WEB: Final = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}://)?([^\s/?#\\@:\[\]]+)(?::[0-9]{1,5})?(?:[/?#].*)?", re.DOTALL)
_MAIL: Final = "email"
_PAGE: Final = "web"


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@lru_cache(maxsize=16_384)
def normalise(host: str) -> str | None:
    """A host name as it goes over the wire: lower-case ASCII (IDNA 2008 behind UTS 46), without a trailing dot.

    None for an address in numbers (IPv4 in any of its forms, IPv6) and for what is no host name.
    """
    host = host.strip()
    if not host or len(host) > _LONGEST_HOST:
        return None
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (UnicodeError, ValueError):
            return None
    host = host.lower().removesuffix(".")
    if not _LDH.fullmatch(host) or len(host) > _LONGEST_HOST or _NUMBERS.fullmatch(host) or _is_ip(host):
        return None
    return host


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=16_384)
def organisational_domain(host: str) -> str | None:
    """The domain that one organisation registered, normalised: ``mail.shop.example`` → ``shop.example``.

    None for an address in numbers, a bare public suffix (``co.uk``, ``github.io``, ``localhost``) and what is no host.
    """
    name = normalise(host)
    return None if name is None else _suffixes().privatesuffix(name)


def public_suffix(domain: str) -> str:
    """What anybody may register under: ``co.uk`` of ``shop.co.uk``; "" for what is no host."""
    name = normalise(domain)
    return "" if name is None else (_suffixes().publicsuffix(name) or "")


def is_public_provider(domain: str) -> bool:
    """Whether addresses at this domain, or one above it, belong to many owners (``gmail.com``)."""
    return _listed(domain, PUBLIC_PROVIDERS)


def is_public_host(domain: str) -> bool:
    """Whether anybody may write pages at this domain, or one above it (``github.com``)."""
    return _listed(domain, PUBLIC_HOSTS)


def _listed(domain: str, listed: frozenset[str]) -> bool:
    name = normalise(domain)
    while name:
        if name in listed:
            return True
        name = name.partition(".")[2]
    return False


def split_address(text: str) -> tuple[str, str] | None:
    """An address as (local part, normalised host), lower case; None where it is not exactly one plain address."""
    found = _ADDRESS.fullmatch(text.strip())
    host = normalise(found[2]) if found else None
    return None if found is None or host is None else (found[1].lower(), host)


def web_host(identity: str) -> str | None:
    """The normalised host of a host name or URL; None where it has none, or names a user (``a@b.example``)."""
    found = _WEB.fullmatch(identity.strip())
    return None if found is None else normalise(found[1])


def is_open_world(source: Source) -> bool:
    """Whether it is a tool that hands on what anybody wrote (``tool:browser``, ``tool:mcp__brave__web_search``,
    ``mcp:brave/web_search``)."""
    if source.channel not in TOOLS:
        return False
    names = [re.sub(r"[\s.:-]+", "_", name) for name in source.identity.lower().split("/")]
    parts = {part for name in names for part in (*name.split("__"), name.removesuffix("_tool"))}
    return not OPEN_WORLD_TOOLS.isdisjoint(parts | {"_".join(names)})


@lru_cache(maxsize=16_384)
def owner(source: Source) -> str:
    """Who controls a source: two sources of one owner may speak for each other.

    ``domain:shop.example`` for mail and web pages of an organisation's own domain; the source's key for an address at
    a public provider, a page at a public host, and on any other channel, where an identity stands for itself; the
    server of a tool of MCP; "" where nobody can be named (an anonymous source, an open-world tool).
    """
    if source.anonymous or is_open_world(source):
        return ""
    if source.channel == MCP:
        return f"{MCP}:{source.identity.partition('/')[0]}"
    host = _host(source)
    domain = organisational_domain(host) if host else None
    return f"domain:{domain}" if domain else source.key


def _host(source: Source) -> str | None:
    """The host whose owner answers for the source; None where nobody does."""
    if source.channel == _MAIL:
        address = split_address(source.identity)
        return None if address is None or is_public_provider(address[1]) else address[1]
    if source.channel == _PAGE:
        host = web_host(source.identity)
        return None if host is None or is_public_host(host) else host
    return None
