/** `sysvar.environment.defaults`: the names of the embedded warehouse's database and schema. */
export const environmentDefaults = { warehouse: 'duckdb', database: 'warehouse', schema: 'main' } as const;
