// Where time axes begin: at zero, or behind the first microseconds, in which windows open and everything is unlike the rest.
// One value for the whole page, so that its figures stay comparable.

import { h } from './dom';

let from = 0;
const listeners: (() => void)[] = [];

export function skipped(): number {
  return from;
}

/// Returns what ends it.
export function onSkip(listener: () => void): () => void {
  listeners.push(listener);
  return () => { listeners.splice(listeners.indexOf(listener), 1); };
}

/// A field that says and sets it; all of them show the same.
export function skipField(): HTMLElement & { forget: () => void } {
  const input = h('input', { type: 'number', min: 0, step: 'any', value: from, class: 'skip-input', 'aria-label': 'Microseconds to ignore at the beginning' });
  input.addEventListener('change', () => {
    const v = Number(input.value);
    from = Number.isFinite(v) && v > 0 ? v : 0;
    for (const listener of listeners) listener();
  });
  const forget = onSkip(() => { input.value = String(from); });
  return Object.assign(h('label', { class: 'field' }, h('span', {}, 'Ignore the first'), input, h('span', {}, 'µs')), { forget });
}
