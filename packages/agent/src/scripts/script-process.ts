/** Runs one script in the sandbox to its end. */
import type { Confinement } from '../confinement/confinement.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import { type ChannelReport, serveChannel } from './script-channel.ts';
import { createFrames } from './script-frames.ts';
import type { ScriptEnd, ScriptEvents, ScriptJob, ScriptStream } from './script-job.ts';
import { LineReader, OutputBudget } from './script-output.ts';
import type { ScriptBounds } from './script-settings.ts';

export interface ScriptMeans {
  bounds: ScriptBounds;
  confinement: Pick<Confinement, 'memory'>;
  /** Absolute path of the interpreter. */
  python: string;
  /** Its folders outside of the system's. */
  folders: readonly string[];
  hiddenFolder: string;
  network: boolean;
}

/** Resolves when no process of the script is left. Never rejects, also if `kill` is aborted. */
export async function runScript(
  job: ScriptJob,
  events: ScriptEvents,
  means: ScriptMeans,
  kill: AbortSignal,
): Promise<ScriptEnd> {
  const { bounds, confinement, network, folders, hiddenFolder } = means;
  const { frames, notes } = createFrames(job, means.python);
  for (const note of notes) events.onLine('stderr', note);
  const sandbox = startSandbox({
    frames,
    bounds,
    network,
    channel: job.language === 'python',
    folders,
    hiddenFolder,
  });
  const memory = confinement.memory.watch(sandbox.process.pid, bounds.memoryMegabytes, !network);
  let verdict: string | undefined;
  const end = (reason: string) => {
    verdict ??= reason;
    sandbox.kill();
    // It may be waiting for the answer to a request.
    sandbox.channel.destroy();
  };
  const seconds = Math.min(job.timeoutSeconds ?? bounds.timeSeconds, bounds.timeSeconds);
  const timer = setTimeout(() => end(describeTimeout(job, seconds, bounds)), seconds * 1_000);
  const cancel = () => end('the run was killed, and the script with it');
  kill.addEventListener('abort', cancel);
  if (kill.aborted) cancel();
  const report = serveChannel(sandbox.channel, events.answer, end);
  const budget = new OutputBudget(bounds.outputKilobytes);
  const refusals = new Set<ScriptRefusal>();
  const noteRefusal = (line: string) => {
    const refusal = findRefusal(line);
    if (refusal !== undefined) refusals.add(refusal);
  };
  // Lines before the script begins say why the sandbox cannot be built.
  const early: [ScriptStream, string][] = [];
  const flushEarly = () => {
    for (const [stream, line] of early.splice(0)) events.onLine(stream, line);
  };
  readLines(sandbox, budget, (stream, line) => {
    early.push([stream, line]);
    if (stream === 'stderr') noteRefusal(line);
    if (report.hasStarted) flushEarly();
  });
  try {
    const { code, fault } = await waitForEnd(sandbox);
    if (report.hasStarted) flushEarly();
    const dropped = budget.describeDropped();
    if (dropped !== undefined) events.onLine('stderr', dropped);
    if (memory.exceeded) verdict = describeMemory(bounds);
    if (verdict === undefined && !report.hasStarted)
      verdict = `the script could not be started: ${fault ?? early.at(-1)?.[1] ?? `the sandbox ended with code ${code}`}`;
    if (verdict !== undefined) return { succeeded: false, message: verdict };
    if (code === 0) return { succeeded: true, message: report.result };
    if (report.failure !== undefined) noteRefusal(report.failure.error);
    const remedies = [...refusals].map((refusal) => describeRefusal(refusal, means)).join('');
    return { succeeded: false, message: `${describeFailure(report, code, bounds)}${remedies}` };
  } finally {
    memory.end();
    clearTimeout(timer);
    kill.removeEventListener('abort', cancel);
  }
}

function readLines(sandbox: Sandbox, budget: OutputBudget, onLine: ScriptEvents['onLine']): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    const reader = new LineReader(stream, budget, onLine);
    sandbox[stream].on('data', (bytes: Buffer) => reader.add(bytes)).on('end', () => reader.end());
  }
}

/** The pipes are closed when the last process of the sandbox has ended. */
function waitForEnd(sandbox: Sandbox): Promise<{ code: number | undefined; fault?: string }> {
  return new Promise((resolve) => {
    sandbox.process.once('error', (error) => resolve({ code: undefined, fault: error.message }));
    sandbox.process.once('close', (code) => resolve({ code: code ?? undefined }));
  });
}

function describeTimeout(
  { timeoutSeconds }: ScriptJob,
  seconds: number,
  { timeSeconds }: ScriptBounds,
): string {
  const remedy =
    timeoutSeconds !== undefined && timeoutSeconds <= timeSeconds
      ? 'raise the timeout of the component'
      : 'raise HEADGATE_AGENT_SCRIPT_TIME_LIMIT_SECONDS of the agent';
  return `the script ran longer than ${seconds} s and was killed: let it do less, or ${remedy}`;
}

function describeMemory({ memoryMegabytes }: ScriptBounds): string {
  return `the script used more than ${memoryMegabytes} MB of memory and was killed: let it read less at once, or raise HEADGATE_AGENT_SCRIPT_MEMORY_MB of the agent`;
}

type ScriptRefusal = 'processes' | 'network';

/** Found by the words of the system and of programs, because the sandbox does not say what it refused. */
function findRefusal(line: string): ScriptRefusal | undefined {
  const has = (...phrases: readonly string[]) => phrases.some((phrase) => line.includes(phrase));
  if (has('fork: retry: Resource', 'fork: Resource temporarily', "can't start new thread"))
    return 'processes';
  if (line.startsWith('BlockingIOError: [Errno 11]')) return 'processes';
  return has('Network is unreachable', 'Could not resolve host', 'name resolution') ? 'network' : undefined;
}

function describeRefusal(refusal: ScriptRefusal, { bounds, network }: ScriptMeans): string {
  if (refusal === 'processes')
    return `; the limit is ${bounds.processes} processes and threads: start fewer at once, or raise HEADGATE_AGENT_SCRIPT_PROCESSES of the agent`;
  if (network) return '';
  return '; scripts of this environment have no network: HEADGATE_AGENT_SCRIPT_NETWORK of the agent can allow it';
}

/** Codes of 129 and more mean a signal, as in a shell; there are 64. */
function describeFailure(
  { failure }: ChannelReport,
  code: number | undefined,
  { memoryMegabytes }: ScriptBounds,
): string {
  if (failure === undefined) {
    const signal =
      code !== undefined && code > 128 && code <= 192 ? `, which means signal ${code - 128}` : '';
    return `the script ended with code ${code ?? 'unknown'}${signal}`;
  }
  const at = failure.line === undefined ? '' : ` (line ${failure.line} of the script)`;
  const memory = `; the limit is ${memoryMegabytes} MB: let the script read less at once, or raise HEADGATE_AGENT_SCRIPT_MEMORY_MB of the agent`;
  return `${failure.error}${at}${failure.error.startsWith('MemoryError') ? memory : ''}`;
}
