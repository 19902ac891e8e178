import { defaultDatabase, defaultSchema } from './tokens/names.ts';

/** `sysvar.environment.defaults`: the names of the embedded warehouse's database and schema. */
export const environmentDefaults = {
  warehouse: 'duckdb',
  database: defaultDatabase,
  schema: defaultSchema,
} as const;
