/** DuckDB's errors in words that help here: it proposes settings that the agent has locked. */
import { getReason } from '../log.ts';

export function explainError(error: unknown, memoryMegabytes: number): string {
  // An internal error lists addresses and paths of this machine.
  const reason = getReason(error).split(/\n+Stack Trace:/)[0] ?? '';
  if (/max_temp_directory_size/.test(reason))
    return `${(reason.split(/\.?\s+This limit was set/)[0] ?? reason).trim()}; the disk for what does not fit in memory is bounded: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_TEMP_MB of the agent`;
  const [said = '', advice] = reason.split(/\n+Possible solutions:/);
  if (advice !== undefined || /^Out of Memory Error/.test(said)) {
    return `${said.trim()}; the warehouse has ${memoryMegabytes} MB: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_MEMORY_MB of the agent`;
  }
  if (/configuration has been locked/.test(reason))
    return `SET of a setting is not allowed in this warehouse: ${reason}. Allowed are SET VARIABLE, USE, SET schema and SET search_path`;
  return reason;
}
