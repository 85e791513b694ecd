// What the build marked as formulas, as KaTeX sets it.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".arithmatex")) {
    const text = place.textContent.trim();
    katex.render(text.slice(2, -2), place, { displayMode: text.startsWith("\\["), throwOnError: false });
  }
});
