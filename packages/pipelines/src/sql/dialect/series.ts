import type { NumberRange } from './dialect.ts';

/** By the table function that DuckDB and PostgreSQL have. */
export const renderSeries = (column: string, { start, end, step }: NumberRange): string =>
  `SELECT generate_series AS ${column} FROM generate_series(${start}, ${end}, ${step})`;
