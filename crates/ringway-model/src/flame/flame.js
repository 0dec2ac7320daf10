
(function () {
  const width = 1200, letter = 6.6, root = document.currentScript.closest("svg");
  const foot = root.querySelector("#foot"), words = foot.textContent;
  const boxes = Array.from(root.querySelectorAll("#boxes > g"), (g) => {
    const rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
    return { g, rect, text: g.querySelector("text"), title, name: title.replace(/ \([^(]*\)$/, ""),
      x: +rect.getAttribute("x"), w: +rect.getAttribute("width"), y: +rect.getAttribute("y") };
  });
  function label(box, x, w) {
    const letters = Math.floor((w - 4) / letter);
    if (letters < 3) { if (box.text) box.text.textContent = ""; return; }
    if (!box.text) {
      box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      box.text.setAttribute("y", box.y + 12);
      box.g.appendChild(box.text);
    }
    box.text.setAttribute("x", x + 2);
    box.text.textContent = box.name.length > letters ? box.name.slice(0, letters - 1) + "…" : box.name;
  }
  function zoom(to) {
    for (const box of boxes) {
      const above = to && box.y < to.y && box.x <= to.x + 0.01 && box.x + box.w >= to.x + to.w - 0.01;
      let x = box.x, w = box.w;
      if (above) { x = 0; w = width; } else if (to) { x = (box.x - to.x) / to.w * width; w = box.w / to.w * width; }
      const shown = !to || above || (box.y >= to.y && x > -0.01 && x + w < width + 0.1);
      box.g.style.display = shown ? "" : "none";
      box.g.classList.toggle("above", !!above);
      if (!shown) continue;
      box.rect.setAttribute("x", x);
      box.rect.setAttribute("width", w);
      label(box, x, w);
    }
  }
  function find() {
    const wanted = prompt("Find functions (regular expression):", "");
    let pattern = null;
    try { pattern = wanted ? new RegExp(wanted) : null; } catch (e) { foot.textContent = String(e); return; }
    const spans = [];
    for (const box of boxes) {
      const hit = !!pattern && pattern.test(box.name);
      box.g.classList.toggle("hit", hit);
      if (hit) spans.push([box.x, box.x + box.w]);
    }
    let end = 0, sum = 0;
    spans.sort((a, b) => a[0] - b[0]).forEach(([from, to]) => { sum += Math.max(0, to - Math.max(from, end)); end = Math.max(end, to); });
    foot.textContent = pattern ? wanted + ": " + (sum / width * 100).toFixed(2) + " % of the samples" : words;
  }
  for (const box of boxes) box.g.addEventListener("click", () => zoom(box.w > 1199 ? null : box));
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") zoom(null);
    if (e.key === "/") { e.preventDefault(); find(); }
  });
})();
