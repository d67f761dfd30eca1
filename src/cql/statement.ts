/**
 * A CQL statement as the session takes it: its text, and what it is for. Texts are built once per keyspace, so that
 * each is prepared once; nothing that comes from a request is ever part of a text.
 */

/**
 * What a statement does to its table; 'range', 'covering' and 'in' are the planner's shapes (R4.3), 'bucket' is history's
 * bounded read (R4.1).
 */
export type StatementShape = 'range' | 'covering' | 'in' | 'bucket' | 'select' | 'insert' | 'update' | 'ddl';

export interface CqlStatement {
  readonly cql: string;
  readonly table: string;
  readonly shape: StatementShape;
  /**
   * Chooses the consistency (D24), the rows of a page, and whether a repeat is harmless. 'pages' reads fewer rows at a
   * time; 'serial' reads what conditional writes decide, and ends one that is under way.
   */
  readonly access: 'read' | 'pages' | 'serial' | 'write' | 'conditional' | 'ddl';
}

/** One request to the store. A statement's first request is the read that S-1 counts; further pages are apart. */
export interface StatementEvent {
  readonly table: string;
  readonly shape: StatementShape;
  readonly furtherPage: boolean;
}

export type StatementObserver = (event: StatementEvent) => void;
