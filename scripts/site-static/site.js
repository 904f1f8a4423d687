// Labels that work a hidden box (menus, branches of the contents) are reached and worked by keyboard, too; Escape closes menus.
addEventListener("DOMContentLoaded", () => {
  for (const label of document.querySelectorAll("label[for]:not(.overlay)")) {
    const box = document.getElementById(label.htmlFor);
    const tell = () => label.setAttribute("aria-expanded", box.checked);
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    box.addEventListener("change", tell);
    tell();
    label.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        box.click();
      }
    });
  }
  addEventListener("keydown", event => {
    if (event.key === "Escape") for (const box of document.querySelectorAll(".sidebar-toggle:checked")) box.click();
  });
  if (!document.querySelector("h1")) { // the page of searches
    const heading = document.createElement("h1");
    heading.textContent = "Search";
    document.querySelector("[role=main]").prepend(heading);
  }
  // What scrolls sideways must be scrolled by keys in every browser.
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
