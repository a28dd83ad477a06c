// Light and dark. The reader's system decides until the toggle is used; paper and exported pictures are always light.

import palette from './palette.json';

export type Theme = 'light' | 'dark';

let chosen: Theme | null = null;
let printing = false;
let forced = false;
const listeners: (() => void)[] = [];
const system = window.matchMedia('(prefers-color-scheme: dark)');

export function theme(): Theme {
  if (forced || printing) return 'light';
  return chosen ?? (system.matches ? 'dark' : 'light');
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  apply();
}

export function setPrinting(on: boolean): void {
  if (printing === on) return;
  printing = on;
  apply();
}

export function isPrinting(): boolean {
  return printing;
}

export function startTheme(alwaysLight: boolean): void {
  forced = alwaysLight;
  system.addEventListener('change', apply);
  apply();
}

export interface Ink {
  text: string;
  muted: string;
  line: string;
  faint: string;
  surface: string;
  warn: string;
  bad: string;
}

const kLight: Ink = {
  text: '#1b2329', muted: '#56626d', line: '#c9d0d6', faint: '#e8ebee', surface: '#ffffff', warn: '#b35900', bad: '#b3261e',
};
const kDark: Ink = {
  text: '#e4e9ee', muted: '#a3afba', line: '#3b4651', faint: '#262e37', surface: '#161b21', warn: '#ffb454', bad: '#ff8a80',
};

export function ink(of: Theme = theme()): Ink {
  return of === 'dark' ? kDark : kLight;
}

// The first five of the palette are Okabe and Ito's colours, which people with any kind of colour vision can tell apart, lighter
// ones on dark ground; a test sees to the distance between all of them. The dashes, symbols and patterns tell series apart
// without any colour.
export interface Look {
  color: string;
  dash: number[] | 'solid';
  symbol: string;
  width: number;
  pattern?: Pattern;
}

export type Pattern = 'plain' | 'rising' | 'falling' | 'level' | 'dots';

interface RoleLook {
  light: string;
  dark: string;
  dash: number[] | 'solid';
  symbol: string;
  pattern: Pattern;
}

const kPalette = palette as (RoleLook & { name: string })[];

const roleLooks = new Map<string, RoleLook>();
let leading = '';

/// Which role has which colour, as the report says. The first role leads: the others are what it is compared with.
export function setRoles(roles: { name: string; colour: string }[]): void {
  roleLooks.clear();
  roleLooks.set('paper', { light: '#b4bec6', dark: '#6f7c88', dash: [4, 4], symbol: 'none', pattern: 'plain' });
  roleLooks.set('ideal', { light: '#6d7780', dark: '#98a4af', dash: [4, 4], symbol: 'none', pattern: 'plain' });
  for (const role of roles) {
    const look = kPalette.find((one) => one.name === role.colour);
    if (look) roleLooks.set(role.name, look);
  }
  leading = roles[0]?.name ?? '';
}

export function leads(role: string): boolean {
  return role !== '' && role === leading;
}

/// The look of each series of one figure, in order. The same role looks the same in every figure; series that share a role
/// (two seeds, say) differ by dash and symbol; those without a role of their own get what no role in the figure has.
export function looks(series: { role: string; dashed?: boolean }[], of: Theme = theme()): Look[] {
  const known = new Set(series.map((one) => roleLooks.get(one.role)));
  const free = kPalette.filter((one) => !known.has(one));
  const rest = free.length > 0 ? free : kPalette;
  let others = 0;
  const used = new Map<string, number>();
  return series.map((one) => {
    const own = roleLooks.get(one.role);
    const base = own ?? rest[others++ % rest.length]!;
    const before = own ? used.get(one.role) ?? 0 : 0;
    used.set(one.role, before + 1);
    const again = before > 0 ? kPalette[before % kPalette.length]! : base;
    const dash = one.dashed ? [6, 4] : again.dash;
    return { color: base[of], dash, symbol: own && before > 0 ? again.symbol : base.symbol,
             width: leads(one.role) ? 2.5 : one.role === 'ideal' ? 1.5 : 2, pattern: again.pattern };
  });
}
