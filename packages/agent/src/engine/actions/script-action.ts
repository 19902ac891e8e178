/** Runs a component's script: its text and variables go to the agent, its requests are answered here. */
import { type Action, isGrid, resolveDefaults, resolveScript, type Variable } from '@headgate/pipelines';
import type { ScriptEnd, ScriptJob, ScriptStream, SentRequest } from '../../scripts/script-job.ts';
import { readRequest } from '../../scripts/script-message.ts';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { getMessage } from '../context/run-context.ts';
import { readFileText } from '../files/files.ts';
import type { LogSource } from '../ports/ports.ts';
import { runScriptSql } from './script-sql.ts';

type RunScriptAction = Extract<Action, { action: 'run-script' }>;

/** Lines and characters of what it printed that are part of the step's message. */
const messageLines = 50;
const messageCharacters = 4_000;
/** A longer line is cut, after secrets are masked. */
const lineCharacters = 60_000;

export async function runScript(action: RunScriptAction, context: ActionContext): Promise<ActionResult> {
  const { ports, mask, limit } = context.run.context;
  const printed: string[] = [];
  const print = (line: string, stream: LogSource['stream']) => {
    const masked = mask(line);
    const shown = masked.length > lineCharacters ? `${masked.slice(0, lineCharacters)}…` : masked;
    ports.log(shown, { step: context.step.current().stepId, stream });
    printed.push(shown);
    if (printed.length > messageLines) printed.shift();
  };
  const { variables, faults } = await readVariables(context);
  for (const fault of faults) print(fault, 'component');
  const job = await createJob(action, variables, context);
  const requests = createRequests(context);
  const events = {
    onLine: (stream: ScriptStream, line: string) => print(line, stream),
    answer: requests.answer,
  };
  context.step.noteEffect();
  const end = await ports.runScript(job, events, limit).finally(requests.end);
  const message = createMessage(end, printed);
  return { status: end.succeeded ? 'SUCCESS' : 'FAILED', ...(message === '' ? {} : { message }) };
}

/** All variables, because a script may read any. One whose default is wrong is left out, and said. */
async function readVariables({
  evaluation,
}: ActionContext): Promise<{ variables: Variable[]; faults: string[] }> {
  const { scope } = await resolveDefaults(evaluation);
  const variables: Variable[] = [];
  const faults: string[] = [];
  for (const { name } of scope.all()) {
    try {
      const variable = scope.get(name);
      if (variable !== undefined) variables.push(variable);
    } catch (error) {
      faults.push(`the script does not get the variable "${name}": ${getMessage(error)}`);
    }
  }
  return { variables, faults };
}

async function createJob(
  { language, source, packages, timeoutSeconds }: RunScriptAction,
  variables: readonly Variable[],
  { run, component, evaluation }: ActionContext,
): Promise<ScriptJob> {
  // A file is run as it is; it reads variables by name.
  const text =
    'file' in source
      ? await readFileText(run.context.ports, run.artifact.files, source.file)
      : await resolveScript(source.text, language, evaluation);
  return {
    component: component.type,
    language,
    text,
    packages,
    timeoutSeconds,
    scalars: variables.flatMap(({ name, type, value }) =>
      type === 'GRID' || isGrid(value) ? [] : [{ name, type, value }],
    ),
    grids: variables.flatMap(({ name, value }) => (isGrid(value) ? [{ name, rows: value.rows }] : [])),
  };
}

/** Answers the requests of a script. At its end a running statement is ended, so that none outlives the step. */
function createRequests(context: ActionContext): {
  answer(request: SentRequest): Promise<string>;
  end(): Promise<void>;
} {
  const { warehouse, limit } = context.run.context;
  const over = new AbortController();
  const signal = AbortSignal.any(limit === undefined ? [over.signal] : [over.signal, limit]);
  const limited = { ...context.run.context, warehouse: warehouse.limit(signal), limit: signal };
  const running = new Set<Promise<unknown>>();
  return {
    answer(request) {
      const answered = answer(request, { ...context, run: { ...context.run, context: limited } });
      running.add(answered);
      return answered.then((value) => JSON.stringify(value ?? null)).finally(() => running.delete(answered));
    },
    async end() {
      over.abort(new Error('the script has ended'));
      await Promise.allSettled(running);
    },
  };
}

async function answer(sent: SentRequest, { run, evaluation }: ActionContext): Promise<unknown> {
  const request = readRequest(sent);
  const { context } = run;
  const { scope } = evaluation;
  switch (request.type) {
    case 'update-scalar':
      return context.runExclusively(async () => scope.setScalar(request.name, request.value));
    case 'update-grid':
      return context.runExclusively(async () => scope.setGrid(request.name, request.rows));
    case 'sql':
      return runScriptSql(context, request.sql);
  }
}

/** Why it failed, or what it returned, and the last lines that it printed. */
function createMessage({ message }: ScriptEnd, printed: readonly string[]): string {
  const lines: string[] = [];
  let left = messageCharacters;
  for (const line of printed.toReversed()) {
    left -= line.length + 1;
    if (left < 0) {
      lines.unshift(lines.length === 0 ? `${line.slice(0, messageCharacters)}…` : '…');
      break;
    }
    lines.unshift(line);
  }
  return [...(message === undefined ? [] : [message]), ...lines].join('\n');
}
