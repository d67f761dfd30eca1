/**
 * Where processes are killed: between every two steps of an operation, between the statements of a step, and while each
 * statement or append is under way. See writing-child.mjs for how a point is written.
 */
export interface Point {
  readonly kind: 'commit' | 'edit' | 'recall' | 'recover' | 'archive';
  readonly at: string;
}

function points(kind: Point['kind'], steps: string, ...others: string[]): Point[] {
  const names = steps.split(' ').filter((step) => step !== '');
  return [...names.map((step) => `step ${kind} ${step}`), ...others].map((at) => ({ kind, at }));
}

/** R5.1; "acknowledged" and the head are after the last step. */
export const COMMIT_POINTS = points(
  'commit',
  'validate assign reserve seal record log complete',
  'during reserve',
  'during append',
  'during complete',
  'acknowledged',
  'during writeHead',
);
/** Of record = sync alone: the statements of step 3. */
export const RECORD_POINTS = points(
  'commit',
  '',
  'during insertRecord',
  'after insertRecord',
  'during putIndex',
);
/** R5.4. */
export const EVENT_POINTS = [
  ...points('edit', 'read assign seal log row head', 'during append', 'during editRecord', 'acknowledged'),
  ...points('recall', 'read assign log row head', 'during append', 'during recallRecord', 'acknowledged'),
];
/** D17. */
export const RECOVERY_POINTS = points(
  'recover',
  '',
  'after append',
  'during recallRecord',
  'after recallRecord',
  'after editRecord',
  'during saveCheckpoint',
  'after saveCheckpoint',
);
/** R3.3; "handled": all is written, the offsets are not committed. */
export const ARCHIVE_POINTS = points(
  'archive',
  '',
  'after editRecord',
  'after recallRecord',
  'during insertRecord',
  'after insertRecord',
  'during putIndex',
  'after putIndex',
  'after park',
  'after handled',
  'acknowledged',
);
