/** The messages between the agent and the thread that analyzes SQL. */
import type { FieldType, PostgresPlace } from '@headgate/pipelines/lineage';
import type { RanSql } from './ran-sql.ts';
import type { FoundLineage } from './step-lineage.ts';

/** The columns of tables, by name: null if there is no such table. */
export type KnownTables = Readonly<Record<string, readonly FieldType[] | null>>;

/** The warehouse whose SQL is analyzed. */
export type LineageWarehouse = { kind: 'duckdb' } | ({ kind: 'postgres' | 'snowflake' } & PostgresPlace);

export interface AnalysisRequest {
  warehouse: LineageWarehouse;
  /** A number of the run: its temporary tables are remembered from step to step. */
  run: number;
  ran: RanSql;
  /** A folder whose path is left out of the names of files. */
  filesFolder: string;
  tables: KnownTables;
}

/** `needed`: tables whose columns would say more, with their names in SQL. */
export interface AnalysisAnswer {
  lineage: FoundLineage;
  needed: Readonly<Record<string, readonly string[]>>;
  /** It follows from the statements and the columns of the tables alone. */
  isPlain: boolean;
}

export type ToThread = ({ type: 'analyze'; id: number } & AnalysisRequest) | { type: 'forget'; run: number };

/** `isBroken`: the thread must be replaced. */
export type FromThread =
  | { type: 'ready' }
  | ({ type: 'answer'; id: number } & AnalysisAnswer)
  | { type: 'failure'; id: number; reason: string; isBroken: boolean };
