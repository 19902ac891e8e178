/** The agent's settings for scripts. */

export interface ScriptBounds {
  /** Upper limit of a component's timeout, and its default. */
  timeSeconds: number;
  /** Memory of all processes of a script, and private memory of each. */
  memoryMegabytes: number;
  /** The script's own disk, which is memory of the machine. */
  diskMegabytes: number;
  processes: number;
  /** What it prints; the rest is dropped. */
  outputKilobytes: number;
  /** Scripts at one time; others wait. */
  concurrency: number;
}

export interface ScriptSettings {
  /** Off: no script runs, whatever the operating system allows. */
  isOn: boolean;
  bounds: ScriptBounds;
  /** Absolute path of the interpreter; undefined: the system's. */
  python: string | undefined;
  /** `*`, or entries `<project id>/<environment>`. Empty: no script has network. */
  network: readonly string[];
}

interface SettingReader {
  integer(name: string, fallback: number, minimum: number, maximum: number): number;
  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readScriptSettings(
  environment: Environment,
  read: SettingReader,
  problems: string[],
): ScriptSettings {
  const python = environment.HEADGATE_AGENT_SCRIPT_PYTHON || undefined;
  if (python !== undefined && !python.startsWith('/'))
    problems.push(
      `HEADGATE_AGENT_SCRIPT_PYTHON is ${JSON.stringify(python)}: it must be an absolute path, such as /opt/python/bin/python3`,
    );
  return {
    isOn: read.oneOf('HEADGATE_AGENT_SCRIPTS', ['on', 'off'], 'on') === 'on',
    bounds: {
      timeSeconds: read.integer('HEADGATE_AGENT_SCRIPT_TIME_LIMIT_SECONDS', 3_600, 1, 86_400),
      memoryMegabytes: read.integer('HEADGATE_AGENT_SCRIPT_MEMORY_MB', 512, 64, 1_048_576),
      diskMegabytes: read.integer('HEADGATE_AGENT_SCRIPT_DISK_MB', 256, 1, 1_048_576),
      processes: read.integer('HEADGATE_AGENT_SCRIPT_PROCESSES', 128, 8, 4_096),
      outputKilobytes: read.integer('HEADGATE_AGENT_SCRIPT_OUTPUT_KB', 1_024, 1, 65_536),
      concurrency: read.integer('HEADGATE_AGENT_SCRIPT_CONCURRENCY', 4, 1, 1_000),
    },
    python,
    network: readNetwork(environment.HEADGATE_AGENT_SCRIPT_NETWORK, problems),
  };
}

function readNetwork(text: string | undefined, problems: string[]): string[] {
  const entries = (text ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  for (const entry of entries)
    if (entry !== '*' && !/^[A-Za-z0-9][A-Za-z0-9-]*\/.+$/.test(entry))
      problems.push(
        `HEADGATE_AGENT_SCRIPT_NETWORK has the entry ${JSON.stringify(entry)}: write a project id and an environment, as in 0198c7a0-1111-7000-8000-000000000001/dev, or * for all`,
      );
  return entries;
}

export function allowsNetwork(
  { network }: ScriptSettings,
  place: { projectId: string; environmentName: string },
): boolean {
  return network.includes('*') || network.includes(`${place.projectId}/${place.environmentName}`);
}
