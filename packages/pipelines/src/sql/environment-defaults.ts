import { defaultDatabase, defaultSchema } from './rewrite/names.ts';

/** `sysvar.environment.defaults`: the names of the embedded warehouse's database and schema. */
export const environmentDefaults = {
  warehouse: 'duckdb',
  database: defaultDatabase,
  schema: defaultSchema,
} as const;
