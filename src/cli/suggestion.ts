/** The nearest of some names to one that is unknown, for "did you mean". Pure. */

/** The name at the least edit distance, when that is at most a third of its length. */
export function nearest(unknown: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = editDistance(unknown, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best !== undefined && bestDistance <= Math.max(1, Math.floor(best.length / 3)) ? best : undefined;
}

/** " (did you mean X?)" or nothing. */
export function didYouMean(unknown: string, names: readonly string[], prefix = ''): string {
  const name = nearest(unknown, names);
  return name === undefined ? '' : ` (did you mean ${prefix}${name}?)`;
}

/** Insertions, deletions and replacements between two texts (Levenshtein), row by row. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}
