/** Merges the tables of the slices. Throws if two of them define the same name. */
export function mergeTables<From, Value>(
  what: string,
  from: readonly From[],
  tableOf: (each: From) => Readonly<Record<string, Value>> | undefined,
): Record<string, Value> {
  const sum: Record<string, Value> = {};
  for (const each of from) {
    for (const [name, value] of Object.entries(tableOf(each) ?? {})) {
      if (Object.hasOwn(sum, name)) throw new Error(`two slices define the same entry in ${what}: ${name}`);
      sum[name] = value;
    }
  }
  return sum;
}
