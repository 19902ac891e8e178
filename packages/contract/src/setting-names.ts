/** Names of settings, as far as server and agent must both know them. */
import { nearestName } from './nearest-name.ts';

/** Every setting of the agent; the server knows them because it passes them on to its local agent. */
export const agentSettingNames = [
  'HEADGATE_SERVER_URL',
  'HEADGATE_AGENT_ALLOW_HTTP',
  'HEADGATE_AGENT_ALLOW_ROOT',
  'HEADGATE_AGENT_ARTIFACT_CACHE_MB',
  'HEADGATE_AGENT_CERTIFICATE_KEY',
  'HEADGATE_AGENT_CLIENT_ID',
  'HEADGATE_AGENT_CLIENT_SECRET',
  'HEADGATE_AGENT_CLIENT_SECRET_FILE',
  'HEADGATE_AGENT_CONCURRENCY',
  'HEADGATE_AGENT_CREDENTIAL_FILE',
  'HEADGATE_AGENT_DIR',
  'HEADGATE_AGENT_EGRESS_ALLOW',
  'HEADGATE_AGENT_MACHINE_ROLE',
  'HEADGATE_AGENT_END_WITH_STDIN',
  'HEADGATE_AGENT_FILE_VAULT_KEY',
  'HEADGATE_AGENT_HASHICORP_TOKEN',
  'HEADGATE_AGENT_ID',
  'HEADGATE_AGENT_LOG_LEVEL',
  'HEADGATE_AGENT_RUN_MEMORY_MB',
  'HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB',
  'HEADGATE_AGENT_RUN_TIME_LIMIT_SECONDS',
  'HEADGATE_AGENT_SCRIPTS',
  'HEADGATE_AGENT_SCRIPT_CONCURRENCY',
  'HEADGATE_AGENT_SHORT_CONCURRENCY',
  'HEADGATE_AGENT_SCRIPT_DISK_MB',
  'HEADGATE_AGENT_SCRIPT_MEMORY_MB',
  'HEADGATE_AGENT_SCRIPT_NETWORK',
  'HEADGATE_AGENT_SCRIPT_OUTPUT_KB',
  'HEADGATE_AGENT_SCRIPT_PROCESSES',
  'HEADGATE_AGENT_SCRIPT_PYTHON',
  'HEADGATE_AGENT_SCRIPT_TIME_LIMIT_SECONDS',
  'HEADGATE_AGENT_SHUTDOWN_SECONDS',
  'HEADGATE_AGENT_VAULTS',
  'HEADGATE_AGENT_WAREHOUSE_IDLE_SECONDS',
  'HEADGATE_AGENT_WAREHOUSE_MEMORY_MB',
  'HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB',
  'HEADGATE_AGENT_WAREHOUSE_TEMP_MB',
  'HEADGATE_AGENT_WAREHOUSE_THREADS',
] as const;

const prefix = 'HEADGATE_';

/**
 * One line for each variable of the environment that begins like a setting and is none of `known`:
 * `HEADGATE_PROT is not a setting; did you mean HEADGATE_PORT?`. Its value is not repeated: it may be a
 * secret.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  const names = new Set(known);
  // Without what all of them begin with, which would make any two of them alike.
  const endings = known.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !names.has(name))
    .map((name) => {
      const nearest = nearestName(name.slice(prefix.length), endings);
      const advice = nearest === undefined ? ' and is ignored.' : `; did you mean ${prefix}${nearest}?`;
      return `${name} is not a setting${advice}`;
    });
}
