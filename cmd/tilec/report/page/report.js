// The page: one section at a time, lines of stages and of the source that belong together, and in the pictures of layouts what one thread has.

const pane = document.getElementById("pane"), source = document.getElementById("source");
const tabs = [...document.querySelectorAll("#tabs a")], sections = [...pane.querySelectorAll("section")];

function choose() {
    const target = document.getElementById(location.hash.slice(1)); // a section, or a launch in one
    const chosen = sections.find(s => s.contains(target)) ?? sections[0];
    pane.classList.add("tabbed");
    for (const s of sections) s.classList.toggle("chosen", s === chosen);
    for (const t of tabs) t.setAttribute("aria-selected", t.hash === "#" + chosen.id);
    if (target && chosen !== target && chosen.contains(target)) target.scrollIntoView();
    else pane.scrollTo(0, 0);
}
addEventListener("hashchange", choose);
choose();

let linked = []; // the lines that are marked

function link(at) {
    for (const line of linked) line.classList.remove("linked");
    linked = at ? [...document.querySelectorAll(`.line[data-at="${at}"]`)] : [];
    for (const line of linked) line.classList.add("linked");
}

// show scrolls a box to the first marked line in it, if none is to be seen.
function show(box) {
    const lines = linked.filter(l => box.contains(l) && l.offsetParent), edge = box.getBoundingClientRect();
    if (lines.length === 0 || lines.some(l => l.getBoundingClientRect().top >= edge.top && l.getBoundingClientRect().bottom <= edge.bottom)) return;
    box.scrollTo({ top: box.scrollTop + lines[0].getBoundingClientRect().top - edge.top - box.clientHeight / 3 });
}

document.addEventListener("mouseover", e => {
    const line = e.target.closest?.(".line[data-at]");
    if (line) link(line.dataset.at);
});
document.addEventListener("click", e => {
    const line = e.target.closest?.(".line[data-at]");
    if (!line || !getSelection().isCollapsed) return;
    link(line.dataset.at);
    show(source.contains(line) ? pane : source);
});

// The first line of the kernel that became anything is what a reader came for.
const first = pane.querySelector(".line[data-at]");
if (first) {
    link(first.dataset.at);
    show(source);
}

for (const code of source.querySelectorAll("code")) code.replaceChildren(colour(code.textContent));

for (const picture of document.querySelectorAll(".layout")) {
    let same = [];
    picture.addEventListener("mouseover", e => {
        for (const cell of same) cell.classList.remove("same");
        const thread = e.target.dataset?.thread;
        same = thread ? [...picture.querySelectorAll(`[data-thread="${thread}"]`)] : [];
        for (const cell of same) cell.classList.add("same");
    });
}
