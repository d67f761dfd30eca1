/**
 * The picture of a calibration, as SVG 1.1 text of its own: (a) what a read takes by its length, (b) what a wanted
 * message takes by density, where the covering range's cost crosses the IN list's. Points are what was measured, lines
 * are the planner's model. Pure: the same findings give the same bytes.
 *
 * It has a background of its own, so that it is readable on a light page and on a dark one; text is escaped.
 */
import { extent } from 'd3-array';
import { scaleLog } from 'd3-scale';
import { line } from 'd3-shape';
import type { SizeFindings } from './calibration.js';
import { type CostFit, costOf } from './fit-costs.js';
import type { PointFigure } from './measure.js';
import { rowsOf, STRIDES } from './read-points.js';

export interface ChartText {
  readonly title: string;
  readonly subtitle: string;
}

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Clamped, so that what costs nothing lies on a logarithmic axis too. */
type Scale = ((value: number) => number) & { ticks(count?: number): number[] };
type Place = readonly [number, number];

const WIDTH = 960;
const HEIGHT = 470;
const PANEL = { top: 124, width: 350, height: 270 };
const LENGTH_PANEL: Frame = { ...PANEL, left: 74 };
const DENSITY_PANEL: Frame = { ...PANEL, left: 540 };

const INK = '#1f2328';
const FAINT = '#d0d7de';
const GREY = '#59636e';
/** Blue and vermilion of Okabe and Ito: told apart by everybody. */
const RANGE = '#0072b2';
const IN = '#d55e00';
const PATH_STEPS = 60;
const LABEL_GAP = 8;
const LINE_HEIGHT = 14;
/** Lengths of panel (b), lightest first. */
const DENSITY_LENGTHS: readonly { readonly wanted: number; readonly opacity: number }[] = [
  { wanted: 10, opacity: 0.45 },
  { wanted: 50, opacity: 0.7 },
  { wanted: 200, opacity: 1 },
];
const TICK_ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** `sizes`: at least one, the planner's first. */
export function crossoverChart(sizes: readonly [SizeFindings, ...SizeFindings[]], text: ChartText): string {
  const [first] = sizes;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}" role="img">`,
    `<title>${escaped(text.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>`,
    words(24, 32, text.title, 'font-size="17" font-weight="600"'),
    words(24, 54, text.subtitle, `fill="${GREY}"`),
    ...lengthPanel(first),
    ...densityPanel(sizes),
    words(
      24,
      HEIGHT - 12,
      'points: medians of what was measured; lines: what the planner takes them to cost',
      `fill="${GREY}" font-size="11"`,
    ),
    '</svg>',
    '',
  ].join('\n');
}

/** (a): both axes logarithmic, so that the fixed part of a statement and what each row adds are both seen. */
function lengthPanel({ figures, fit, rowBytes }: SizeFindings): string[] {
  const frame = LENGTH_PANEL;
  const places = figures.map((figure): Place => [rowsOf(figure.point), figure.medianMicros / 1_000]);
  const [low = 0.1, high = 1] = extent(places, ([, ms]) => ms);
  const rowsMax = Math.max(2, ...places.map(([rows]) => rows));
  const x = scaleLog([1, rowsMax], [frame.left, frame.left + frame.width]);
  const y = scaleLog([low, high], [frame.top + frame.height, frame.top])
    .nice()
    .clamp(true);
  const model = (isIn: boolean, upTo: number): Place[] =>
    steps(1, upTo).map((count) => [count, costOf({ isIn, count }, fit) / 1_000]);
  const longestIn = Math.max(
    1,
    ...figures.filter(({ point }) => point.shape === 'in').map(({ point }) => point.wanted),
  );
  return [
    ...axes(frame, {
      heading: `(a) one read by its length, rows of ${bytesText(rowBytes)}`,
      xTitle: 'rows of a range, wanted or surplus; elements of an IN list',
      yTitle: 'ms',
      xTicks: TICK_ROWS.filter((rows) => rows <= rowsMax).map((rows) => [x(rows), String(rows)]),
      yTicks: logTicks(y),
    }),
    ...legend(frame.left, frame.top - 14, [
      ['range, covering range', RANGE],
      ['IN list', IN],
    ]),
    curve(model(false, rowsMax), x, y, RANGE),
    curve(model(true, longestIn), x, y, IN),
    ...figures.map(({ point, medianMicros }) =>
      dot(x(rowsOf(point)), y(medianMicros / 1_000), point.shape === 'in' ? IN : RANGE, point.shape),
    ),
  ];
}

/** (b): IN lists are flat, covering ranges rise with the rows that they read for each wanted message. */
function densityPanel(sizes: readonly [SizeFindings, ...SizeFindings[]]): string[] {
  const frame = DENSITY_PANEL;
  const [{ figures, fit, rowBytes }] = sizes;
  const lengths = DENSITY_LENGTHS.filter(({ wanted }) =>
    figures.some(({ point }) => point.wanted === wanted),
  );
  const shown = figures.filter(({ point }) => lengths.some(({ wanted }) => wanted === point.wanted));
  const strideMax = STRIDES.at(-1) ?? 1;
  const perMessage = ({ point, medianMicros }: PointFigure): number => medianMicros / point.wanted;
  const modelled = lengths.flatMap(({ wanted }) => [
    coveringPerMessage(1, wanted, fit),
    coveringPerMessage(strideMax, wanted, fit),
    inPerMessage(wanted, fit),
  ]);
  const [low = 1, high = 10] = extent([...shown.map(perMessage), ...modelled].filter((micros) => micros > 0));
  const x = scaleLog([1, strideMax], [frame.left, frame.left + frame.width]).base(2);
  const y = scaleLog([low, high], [frame.top + frame.height, frame.top])
    .nice()
    .clamp(true);
  const labels = spread(lengths.map(({ wanted }) => y(inPerMessage(wanted, fit)) + 4));
  return [
    ...axes(frame, {
      heading: `(b) one wanted message by density, rows of ${bytesText(rowBytes)}`,
      xTitle: 'rows from the first to the last, for each wanted message',
      yTitle: 'µs',
      xTicks: STRIDES.map((stride) => [x(stride), String(stride)]),
      yTicks: logTicks(y),
    }),
    ...legend(frame.left, frame.top - 14, [
      ['covering range', RANGE],
      ['IN list; n wanted messages', IN],
    ]),
    ...crossovers(frame, sizes, x),
    ...lengths.flatMap(({ wanted, opacity }, index) => {
      const covering = steps(1, strideMax).map(
        (stride): Place => [stride, coveringPerMessage(stride, wanted, fit)],
      );
      const list = [1, strideMax].map((stride): Place => [stride, inPerMessage(wanted, fit)]);
      const labelX = x(strideMax) + LABEL_GAP;
      return [
        curve(covering, x, y, RANGE, opacity),
        curve(list, x, y, IN, opacity),
        words(labelX, labels[index] as number, `n = ${wanted}`, `fill="${IN}" font-size="11"`),
      ];
    }),
    ...shown.map((figure) => {
      const { shape, wanted, stride } = figure.point;
      const opacity = lengths.find((each) => each.wanted === wanted)?.opacity ?? 1;
      return dot(x(stride), y(perMessage(figure)), shape === 'in' ? IN : RANGE, shape, opacity);
    }),
  ];
}

/** A mark for each size of rows where I / R lies. */
function crossovers(frame: Frame, sizes: readonly SizeFindings[], x: Scale): string[] {
  const bottom = frame.top + frame.height;
  const strideMax = STRIDES.at(-1) ?? 1;
  const inside = sizes.filter(({ crossover = 0 }) => crossover >= 1 && crossover <= strideMax);
  const labelX = Math.max(0, ...inside.map(({ crossover = 1 }) => x(crossover))) + LABEL_GAP;
  return inside.flatMap(({ crossover = 1, rowBytes }, index) => [
    `<path d="M${fixed(x(crossover))},${frame.top}V${bottom}" stroke="${GREY}" stroke-dasharray="${index === 0 ? '5 3' : '1 3'}"/>`,
    words(
      labelX,
      frame.top + 14 + index * LINE_HEIGHT,
      `${index === 0 ? 'crossover ' : ''}${crossover.toFixed(2)} at ${bytesText(rowBytes)}`,
      `fill="${GREY}" font-size="11"`,
    ),
  ]);
}

/** Heights of labels, moved down where they would cover each other. */
function spread(heights: readonly number[]): number[] {
  const order = heights.map((_, index) => index).sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const placed = [...heights];
  let least = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    least = Math.max(placed[index] as number, least + LINE_HEIGHT);
    placed[index] = least;
  }
  return placed;
}

function coveringPerMessage(stride: number, wanted: number, fit: CostFit): number {
  return costOf({ isIn: false, count: (wanted - 1) * stride + 1 }, fit) / wanted;
}

function inPerMessage(wanted: number, fit: CostFit): number {
  return costOf({ isIn: true, count: wanted }, fit) / wanted;
}

interface Axes {
  readonly heading: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xTicks: readonly (readonly [number, string])[];
  readonly yTicks: readonly (readonly [number, string])[];
}

function axes(
  { left, top, width, height }: Frame,
  { heading, xTitle, yTitle, xTicks, yTicks }: Axes,
): string[] {
  const bottom = top + height;
  return [
    words(left, top - 32, heading, 'font-weight="600"'),
    ...yTicks.flatMap(([y, label]) => [
      `<path d="M${left},${fixed(y)}H${left + width}" stroke="${FAINT}"/>`,
      words(left - LABEL_GAP, y + 4, label, 'text-anchor="end"'),
    ]),
    ...xTicks.flatMap(([x, label]) => [
      `<path d="M${fixed(x)},${bottom}v5" stroke="${INK}"/>`,
      words(x, bottom + 19, label, 'text-anchor="middle"'),
    ]),
    `<path d="M${left},${top}V${bottom}H${left + width}" fill="none" stroke="${INK}"/>`,
    words(left + width / 2, bottom + 42, xTitle, `text-anchor="middle" fill="${GREY}"`),
    words(left - LABEL_GAP, top - 12, yTitle, `text-anchor="end" fill="${GREY}"`),
  ];
}

function legend(left: number, y: number, entries: readonly (readonly [string, string])[]): string[] {
  const space = 170;
  return entries.flatMap(([label, colour], index) => {
    const x = left + 6 + index * space;
    const shape = colour === IN ? 'in' : 'range';
    return [dot(x, y - 4, colour, shape), words(x + 10, y, label, `fill="${colour}"`)];
  });
}

function logTicks(y: Scale): [number, string][] {
  // A decade's marks are too many to read; 1, 2 and 5 of each are enough.
  return y
    .ticks()
    .filter((ms) => ['1', '2', '5'].includes(ms.toExponential()[0] as string))
    .map((ms) => [y(ms), String(ms)]);
}

function curve(places: readonly Place[], x: Scale, y: Scale, colour: string, opacity = 1): string {
  const path = line<Place>()
    .x(([across]) => x(across))
    .y(([, up]) => y(up))
    .digits(1)(places);
  return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5" stroke-opacity="${opacity}"/>`;
}

/** A circle for ranges, hollow where surplus rows are read; a square for IN lists. */
function dot(
  x: number,
  y: number,
  colour: string,
  shape: PointFigure['point']['shape'],
  opacity = 1,
): string {
  const style = `fill="${shape === 'covering' ? '#ffffff' : colour}" stroke="${colour}" opacity="${opacity}"`;
  return shape === 'in'
    ? `<rect x="${fixed(x - 3)}" y="${fixed(y - 3)}" width="6" height="6" ${style}/>`
    : `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="3" ${style}/>`;
}

/** Evenly spread over a logarithmic axis. */
function steps(from: number, to: number): number[] {
  return Array.from({ length: PATH_STEPS + 1 }, (_, at) => from * (to / from) ** (at / PATH_STEPS));
}

function words(x: number, y: number, text: string, style: string): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" ${style}>${escaped(text)}</text>`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}

function bytesText(bytes: number): string {
  return bytes < 1_024 || bytes % 1_024 !== 0 ? `${bytes} B` : `${bytes / 1_024} KiB`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** For text and attributes; what XML 1.0 has no place for at all (controls, lone surrogates) is replaced. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replaceAll(/[&<>"]/g, (letter) => ENTITIES[letter] as string);
}
