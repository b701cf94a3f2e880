// Keyboard shortcuts. Everything works without them: they only press what is on the page.
"use strict";
(() => {
  const dialog = document.getElementById("keys");
  const show = document.getElementById("show-keys");
  const on = document.getElementById("keys-on");
  if (!dialog || !show || !on) return;

  const read = () => { try { return localStorage.getItem("thymus-keys") !== "off"; } catch { return true; } };
  const keep = (value) => { try { localStorage.setItem("thymus-keys", value ? "on" : "off"); } catch { /* private */ } };
  on.checked = read();
  on.addEventListener("change", () => keep(on.checked));
  show.hidden = false;
  show.addEventListener("click", () => dialog.showModal());

  const claims = [...document.querySelectorAll(".claim")];
  const current = () => claims.findIndex((claim) => claim.contains(document.activeElement));

  function go(by) {
    const at = current();
    const next = claims[at < 0 ? (by > 0 ? 0 : claims.length - 1) : at + by];
    if (next) {
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    }
  }

  function press(what) {
    const at = current();
    const button = at < 0 ? null : claims[at].querySelector(`button.${what}`);
    if (button) button.click();
  }

  const keys = {
    j: () => go(1),
    k: () => go(-1),
    a: () => press("accept"),
    r: () => press("reject"),
    "?": () => dialog.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
    if (!on.checked || dialog.open || event.target.closest("input, select, textarea")) return;
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
})();
