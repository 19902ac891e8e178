/** Types of Snowflake and Redshift and their names in DuckDB. */

const types: Readonly<Record<string, string>> = {
  ARRAY: 'JSON',
  OBJECT: 'JSON',
  STRING: 'VARCHAR',
  SUPER: 'JSON',
  TIMESTAMP_NTZ: 'TIMESTAMP',
  VARIANT: 'JSON',
};

export function translateType(name: string, args: readonly string[]): string | undefined {
  if (['NUMBER', 'NUMERIC', 'DECIMAL'].includes(name))
    return `DECIMAL(${args[0] ?? '38'}, ${args[1] ?? '0'})`;
  return Object.hasOwn(types, name) ? types[name] : undefined;
}
