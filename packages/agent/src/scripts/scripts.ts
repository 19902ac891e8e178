/** The scripts of an agent: on if the sandbox holds on this machine. ADR 0044. */
import type { Confinement } from '../confinement/confinement.ts';
import { getReason, type Log } from '../log.ts';
import { findPython, type Interpreter } from './interpreter.ts';
import type { ScriptEnd, ScriptEvents, ScriptJob } from './script-job.ts';
import { findFault, findPythonFault } from './script-probe.ts';
import { runScript, type ScriptMeans } from './script-process.ts';
import { allowsNetwork, type ScriptSettings } from './script-settings.ts';
import { createScriptTurns, type ScriptPlace } from './script-turns.ts';

export interface Scripts {
  /**
   * Runs a script when its environment has a turn. Resolves when none of its processes is left.
   *
   * @param place the script of a test never has a network
   * @throws Error if scripts are off; the message says what they need
   */
  run(
    job: ScriptJob,
    place: ScriptPlace & { isTest?: boolean },
    events: ScriptEvents,
    kill: AbortSignal,
  ): Promise<ScriptEnd>;
}

const remedy =
  'it needs Linux 5.14 or later with user namespaces for the user of the agent, and perl (docs/pipelines/scripts.md)';

/** Does not wait for the probe: the first script does. */
export function openScripts(options: {
  settings: ScriptSettings;
  confinement: Confinement;
  hiddenFolder: string;
  log: Log;
}): Scripts {
  const { settings, confinement, hiddenFolder } = options;
  const findings = probe(options);
  const takeTurn = createScriptTurns(settings.bounds.concurrency);
  return {
    async run(job, place, events, kill) {
      const { off, python } = await findings;
      if (off !== undefined) throw new Error(`${job.component} is off on this agent: ${off}`);
      if (job.language === 'python' && 'fault' in python)
        throw new Error(`${job.component} is off on this agent: ${python.fault}`);
      const leave = await takeTurn(place, kill);
      try {
        const [path, folders] = 'fault' in python ? ['', []] : [python.path, python.folders];
        const network = place.isTest !== true && allowsNetwork(settings, place);
        const means = { bounds: settings.bounds, confinement, python: path, folders, hiddenFolder, network };
        return await runScript(job, events, means, kill);
      } finally {
        leave();
      }
    },
  };
}

async function probe({
  settings,
  confinement,
  hiddenFolder,
  log,
}: Parameters<typeof openScripts>[0]): Promise<{ off: string | undefined; python: Interpreter }> {
  if (!settings.isOn) {
    log.info('scripts are off', { by: 'HEADGATE_AGENT_SCRIPTS' });
    return { off: 'HEADGATE_AGENT_SCRIPTS of the agent is off', python: { fault: 'off' } };
  }
  const never = new AbortController().signal;
  const found = await findPython(settings.python);
  const folders = 'fault' in found ? [] : found.folders;
  const means = { confinement, hiddenFolder, folders };
  const fault = confinement.memory.isSupported
    ? await findFault(means, never).catch(getReason)
    : 'this is not Linux';
  if (fault !== undefined) {
    log.warn(`scripts are off: ${remedy}`, { reason: fault });
    return { off: `${remedy}; ${fault}`, python: { fault } };
  }
  const python = 'fault' in found ? found : await tryPython(found, means);
  const described = 'fault' in python ? python.fault : `${python.path} ${python.version}`;
  log.info('scripts are confined', { by: 'namespaces', python: described });
  return { off: undefined, python };
}

async function tryPython(
  found: Exclude<Interpreter, { fault: string }>,
  means: Pick<ScriptMeans, 'confinement' | 'hiddenFolder' | 'folders'>,
): Promise<Interpreter> {
  const never = new AbortController().signal;
  const fault = await findPythonFault({ ...means, python: found.path }, never).catch(getReason);
  if (fault === undefined) return found;
  return {
    fault: `${found.path} does not run in the sandbox (${fault}): install it where all users can read it, and not below /tmp`,
  };
}
