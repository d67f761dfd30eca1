/** The picture: XML that is well-formed whatever it says, the same for the same figures, with all that it must show. */
import { describe, expect, it } from 'vitest';
import { calibrationOf, type SizeFindings } from '../../src/calibrate/calibration.js';
import { crossoverChart } from '../../src/calibrate/crossover-chart.js';
import { readPoints } from '../../src/calibrate/read-points.js';
import { type Costs, figuresOf, groupOf } from './calibrate-fixtures.js';

const TEXT = { title: 'What reads cost', subtitle: 'keyspace chat' };
const MEASURED = { roundsDone: 3, reads: 1, failures: 0, changedReads: 0, refused: [] };

function sizesOf(costs: Costs, rows = 4_096): [SizeFindings, ...SizeFindings[]] {
  const groups = [groupOf(rows, 600), groupOf(rows, 4_096)];
  const figures = figuresOf(readPoints(groups), costs);
  const [first, ...others] = calibrationOf(groups, { figures, ...MEASURED }).sizes;
  if (first === undefined) throw new Error('two groups were given');
  return [first, ...others];
}

const USUAL = { statement: 650, row: 11, element: 17 };

/** Fails unless every tag is closed in order, attributes are quoted, and no bare & or < stands in text. */
function requireWellFormed(xml: string): readonly string[] {
  const open: string[] = [];
  const seen: string[] = [];
  const tag = /<(\/?)([a-z]+)((?: [\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>/g;
  const text = xml.replaceAll(tag, (_, closing: string, name: string, __, empty: string) => {
    if (closing !== '') expect(open.pop()).toBe(name);
    else seen.push(name);
    if (closing === '' && empty === '') open.push(name);
    return '';
  });
  expect(open).toEqual([]);
  expect(text.replaceAll(/&(amp|lt|gt|quot);/g, '')).not.toMatch(/[<>&]/);
  return seen;
}

describe('the check of these tests', () => {
  it.each(['<svg><g></svg>', '<svg>&</svg>', '<svg a=b/>', '<svg a="<"/>', '<svg>', '<p>a < b</p>'])(
    'finds %s',
    (xml) => {
      expect(() => requireWellFormed(xml)).toThrow();
    },
  );
});

describe('the picture', () => {
  it('is well-formed with nothing measured, with rows that cost nothing, and with hostile text', () => {
    const empty: SizeFindings = {
      rowBytes: 0,
      buckets: 1,
      fit: {
        statementMicros: 0,
        rangeRowMicros: 0,
        inElementMicros: 0,
        rangeError: undefined,
        inError: undefined,
      },
      crossover: undefined,
      figures: [],
    };
    const hostile = { title: '</text><script>"&\u{0}\u{7}\u{d800}', subtitle: "]]> ' <!-- \u{202e}" };
    for (const sizes of [
      [empty],
      sizesOf({ statement: 5, row: 0, element: 0 }),
      sizesOf(USUAL, 3),
    ] as const) {
      const svg = crossoverChart(sizes as [SizeFindings, ...SizeFindings[]], hostile);
      requireWellFormed(svg);
      expect(svg).not.toContain('<script');
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
      expect(svg).not.toContain('\u{0}');
    }
  });

  it('is the same for the same figures, and another for others', () => {
    expect(crossoverChart(sizesOf(USUAL), TEXT)).toBe(crossoverChart(sizesOf(USUAL), TEXT));
    expect(crossoverChart(sizesOf({ ...USUAL, row: 12 }), TEXT)).not.toBe(
      crossoverChart(sizesOf(USUAL), TEXT),
    );
  });

  it('shows every figure, both lines of each panel, the crossover of each size, and what it says', () => {
    const sizes = sizesOf(USUAL);
    const svg = crossoverChart(sizes, TEXT);
    const tags = requireWellFormed(svg);
    const figures = sizes[0].figures.filter(({ point }) => point.shape !== 'in').length;
    expect(tags.filter((name) => name === 'circle').length).toBeGreaterThanOrEqual(figures);
    expect(svg.match(/stroke-width="1.5"/g)).toHaveLength(2 + 2 * 3);
    for (const words of [
      TEXT.title,
      TEXT.subtitle,
      'crossover 1.55 at 600 B',
      '1.55 at 4 KiB',
      'n = 200',
      '(a)',
      '(b)',
    ]) {
      expect(svg).toContain(words);
    }
  });

  it('has a background of its own, for light pages and dark ones, and leads nowhere', () => {
    const svg = crossoverChart(sizesOf(USUAL), TEXT);
    expect(svg).toMatch(/<rect width="960" height="\d+" rx="8" fill="#ffffff"\/>/);
    expect(svg.match(/https?:/g)).toEqual(['http:']);
    expect(svg).not.toMatch(/href|script|style=|url\(/);
  });

  it('places its marks inside the picture', () => {
    const svg = crossoverChart(sizesOf(USUAL), TEXT);
    for (const [, x = '', y = ''] of svg.matchAll(/c?x="([\d.-]+)" c?y="([\d.-]+)"/g)) {
      expect(Number(x)).toBeGreaterThanOrEqual(0);
      expect(Number(x)).toBeLessThanOrEqual(960);
      expect(Number(y)).toBeGreaterThanOrEqual(0);
      expect(Number(y)).toBeLessThanOrEqual(470);
    }
  });
});
