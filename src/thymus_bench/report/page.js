"use strict";
const rows = [...document.querySelectorAll("#plays tbody tr")];
const filters = [...document.querySelectorAll(".filters [name]")];
const count = document.querySelector("#count");

function narrow() {
  let shown = 0;
  for (const row of rows) {
    row.hidden = !filters.every(({ name, value }) =>
      !value || (name === "text" ? row.textContent.toLowerCase().includes(value.toLowerCase()) : row.dataset[name] === value));
    shown += !row.hidden;
  }
  count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
}

function sort(heading) {
  const body = heading.closest("table").tBodies[0];
  const at = heading.cellIndex;
  const down = heading.getAttribute("aria-sort") === "ascending";
  const key = (row) => row.cells[at].textContent.trim().replace("−", "-");
  const lines = [...body.rows].map((row) => [key(row), row]);
  lines.sort(([one], [other]) => {
    const [a, b] = [parseFloat(one.replace(/[<,+]/g, "")), parseFloat(other.replace(/[<,+]/g, ""))];
    const order = Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
    return down ? -order : order;
  });
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...lines.map(([, row]) => row));
}

for (const filter of filters) filter.addEventListener("input", narrow);
for (const table of document.querySelectorAll("table")) {
  table.classList.add("sortable");
  table.tHead.addEventListener("click", ({ target }) => target.closest("th") && sort(target.closest("th")));
}
if (count) narrow();
