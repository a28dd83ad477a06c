// Elements without markup in strings: names come from files of anybody's making, and are only ever text.

type Child = Node | string | null | undefined | false;
type Attrs = Record<string, string | number | boolean | null | undefined | ((e: never) => void)>;

function fill(node: Element, attrs: Attrs, children: Child[]): void {
  for (const [name, v] of Object.entries(attrs)) {
    if (v === null || v === undefined || v === false) continue;
    if (typeof v === 'function') node.addEventListener(name, v as unknown as EventListener);
    else node.setAttribute(name, v === true ? '' : String(v));
  }
  for (const child of children) if (child) node.append(child);
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attrs: Attrs = {},
                                                         ...children: Child[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  fill(node, attrs, children);
  return node;
}

export function s<K extends keyof SVGElementTagNameMap>(tag: K, attrs: Attrs = {},
                                                        ...children: Child[]): SVGElementTagNameMap[K] {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  fill(node, attrs, children);
  return node;
}

/// Text in which `code` between backquotes is the only markup.
export function prose(source: string): DocumentFragment {
  const out = document.createDocumentFragment();
  source.split('`').forEach((part, i, parts) => {
    // An odd part stands between two quotes, unless the closing one is missing.
    if (i % 2 === 1 && i < parts.length - 1) out.append(h('code', {}, part));
    else out.append(i % 2 === 1 ? '`' + part : part);
  });
  return out;
}

export function button(label: string, onClick: () => void, attrs: Attrs = {}): HTMLButtonElement {
  return h('button', { type: 'button', click: onClick, ...attrs }, label);
}

export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// A name that any file system takes.
export function fileName(...parts: string[]): string {
  return parts.map((p) => p.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^-+|-+$/g, '')).filter((p) => p).join('-');
}

/// What stands behind '#'. Anybody can write a link, also one with a broken escape.
export function fragment(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}
