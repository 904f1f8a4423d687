// What scripts/check-site asks of a page; each function returns findings as [what, where].
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const colours = new Map();
  const rgba = text => {
    if (!colours.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      colours.set(text, [r, g, b, a / 255]);
    }
    return colours.get(text);
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = colour => {
    const [r, g, b] = colour.map(v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  // What is painted behind an element: the backgrounds of its ancestors, one over the other.
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const layer = rgba(getComputedStyle(e).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const opacity = element => {
    let product = 1;
    for (let e = element; e; e = e.parentElement) product *= Number(getComputedStyle(e).opacity);
    return product;
  };
  const name = e => {
    const own = e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + [...e.classList].map(c => "." + c).join("");
    return e.id || !e.parentElement || e.parentElement === document.body ? own : e.parentElement.tagName.toLowerCase() + " > " + own;
  };
  // Is it there for somebody who looks at the page, scrolled to it?
  const isSeen = e => {
    const box = e.getBoundingClientRect();
    return e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && box.width > 1 && box.height > 1 &&
      box.right > 0;
  };

  const contrast = () => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let n = 0;
    const check = (element, style, words) => {
      const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ground = behind(element), ink = rgba(style.color), drawn = over([...ink.slice(0, 3), ink[3] * opacity(element)], ground), is = ratio(drawn, ground);
      n++;
      if (is < (isLarge ? 3 : 4.5)) found.push([`contrast ${is.toFixed(2)} of ${style.color}`, `${name(element)} '${words.trim().slice(0, 24)}'`]);
    };
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (walker.currentNode.nodeValue.trim() && isSeen(element) && !element.closest("script, style, noscript, svg"))
        check(element, getComputedStyle(element), walker.currentNode.nodeValue);
    }
    for (const input of document.querySelectorAll("input[placeholder]")) if (isSeen(input)) check(input, getComputedStyle(input, "::placeholder"), input.placeholder);
    return [n, found];
  };

  const structure = () => {
    const found = [], root = document.documentElement;
    if (!root.lang) found.push(["no language", "html"]);
    if (document.querySelectorAll("h1").length !== 1) found.push([`${document.querySelectorAll("h1").length} headings of the first level`, "body"]);
    if (root.scrollWidth > innerWidth) found.push([`wider than the window by ${root.scrollWidth - innerWidth}`, "html"]);
    for (const img of document.images) if (!img.hasAttribute("alt")) found.push(["a picture without words", name(img)]);
    for (const e of document.querySelectorAll("a[href], button, input, label[for]"))
      if (isSeen(e) && !(e.textContent.trim() || e.ariaLabel || e.placeholder || e.title || e.querySelector("img[alt]"))) found.push(["a control without a name", name(e)]);
    return found;
  };

  // Elements that a mouse can use, those that scroll among them; where a label stands for a box that is not seen, the label.
  const usable = () => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, label[for], pre, .table-wrapper, .math")]
    .filter(e => isSeen(e) && !e.disabled && (!e.matches("label") || !isSeen(document.getElementById(e.htmlFor) || e)) &&
      (!e.matches("pre, .table-wrapper, .math") || (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible")));
  const reached = new Map();
  addEventListener("focusin", ({target}) => {
    const style = getComputedStyle(target), ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const shown = style.outlineStyle === "auto" || ratio(over(rgba(style.outlineColor), behind(target.parentElement || target)), behind(target.parentElement || target)) >= 3;
    reached.set(target, [isSeen(target) || !!target.closest(".skip-link"), ring && shown]);
  });
  const keyboard = wanted => {
    const found = [];
    for (const e of wanted) if (!reached.has(e) && isSeen(e)) found.push(["not reached by Tab", name(e)]);
    for (const [e, [seen, ring]] of reached) {
      if (!seen) found.push(["has the focus and is not seen", name(e)]);
      else if (!ring) found.push(["shows no focus", name(e)]);
    }
    return found;
  };
  let wanted = [];
  window.check = {
    contrast, structure,
    start: () => (reached.clear(), document.activeElement.blur(), scrollTo(0, 0), wanted = usable(), wanted.length),
    keyboard: () => keyboard(wanted),
    toggles: () => usable().filter(e => e.matches("label")).map(e => e.htmlFor),
    isChecked: id => document.getElementById(id).checked,
    focus: id => {
      const label = usable().find(e => e.htmlFor === id);
      label?.focus();
      return label !== undefined && document.activeElement === label;
    },
  };
})();
