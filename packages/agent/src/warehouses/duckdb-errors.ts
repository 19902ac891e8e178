/** Rewrites DuckDB's error messages, which suggest settings that the agent has locked. */
import { getReason } from '../log.ts';

export function explainError(error: unknown, memoryMegabytes: number): string {
  // The stack trace of an internal error contains addresses and paths of this machine.
  const reason = getReason(error).split(/\n+Stack Trace:/)[0] ?? '';
  if (/max_temp_directory_size/.test(reason))
    return `${(reason.split(/\.?\s+This limit was set/)[0] ?? reason).trim()}; the disk space for spilling is limited: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_TEMP_MB of the agent`;
  const [message = '', advice] = reason.split(/\n+Possible solutions:/);
  if (advice !== undefined || /^Out of Memory Error/.test(message)) {
    return `${message.trim()}; the warehouse has ${memoryMegabytes} MB: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_MEMORY_MB of the agent`;
  }
  if (/configuration has been locked/.test(reason))
    return `settings cannot be changed in this warehouse: ${reason}. Use only SET VARIABLE, USE, SET schema and SET search_path`;
  return removeHints(reason);
}

/** DuckDB proposes the tables of its own catalog, which have nothing to do with the user's. */
function removeHints(reason: string): string {
  return reason.replace(/\s*Did you mean "(?:pg_|sqlite_|duckdb_)\w*(?: or [^"\n]*)?"\?/g, '');
}
