/** The name that Snowflake keeps: in upper case, or as it is written in double quotes. */
export function readSnowflakeName(written: string): string {
  const isQuoted = written.length > 2 && written.startsWith('"') && written.endsWith('"');
  return isQuoted ? written.slice(1, -1).replaceAll('""', '"') : written.toUpperCase();
}
