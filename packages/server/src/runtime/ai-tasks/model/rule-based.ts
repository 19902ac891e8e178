/**
 * The assistant of a server without a model. It follows rules, says so, and understands five instructions. It uses
 * the same tools as a model, with the same rights and decisions.
 */
import type { Model, ModelAnswer, ModelMessage, ModelRequest } from './model.ts';

const introduction = 'I am the rule-based assistant: this server has no model.';
const abilities = `${introduction} I understand these instructions:
- list the pipelines
- explain NAME
- validate NAME, or: validate all
- run NAME
- why did NAME fail`;

interface Call {
  toolName: string;
  input: Record<string, unknown>;
}

/** A call to make next, or the text of the answer. */
type Next = Call | string;

interface Rule {
  /** What the instruction names, or an empty text; undefined if the rule is not about it. */
  read: (instruction: string) => string | undefined;
  /** `results`: the texts of the calls that it made so far, in their order. */
  next: (name: string, results: readonly string[]) => Next;
}

const call = (toolName: string, input: Record<string, unknown> = {}): Call => ({ toolName, input });

/** Tried in this order: `why did … fail` also has other verbs in it. */
const rules: readonly Rule[] = [
  { read: readFailure, next: findReason },
  {
    read: (instruction) => (instruction.split('\n').some(asksForList) ? '' : undefined),
    next: (_, [list]) => (list === undefined ? call('list_pipelines') : `These are the pipelines:\n${list}`),
  },
  { read: (instruction) => /\b(?:explain|describe)\b\s*(.*)/i.exec(instruction)?.[1], next: explain },
  { read: (instruction) => /\b(?:validate|check)\b\s*(.*)/i.exec(instruction)?.[1], next: validate },
  {
    read: (instruction) => /\b(?:run|start|execute)\b\s*(.*)/i.exec(instruction)?.[1],
    next: (name, [run]) => {
      if (name === '') return 'Name the pipeline, such as: run daily-load.';
      return run ?? call('run_pipeline', { pipelineName: name });
    },
  },
];

/** `why did daily-load fail` → `daily-load`. Each step reads on from the last: one expression would go back again. */
function readFailure(instruction: string): string | undefined {
  const question = textAfter(instruction, /\bwhy\b/i);
  if (question === undefined) return undefined;
  const failure = /\b(?:fail(?:ed|s)?|go wrong)\b/i;
  for (const clause of [textAfter(question, /\b(?:did|does|has)\b/i), question]) {
    const end = clause?.search(failure) ?? -1;
    if (end >= 0) return clause?.slice(0, end);
  }
  return undefined;
}

function asksForList(line: string): boolean {
  return /\b(?:pipelines?|files?)\b/i.test(textAfter(line, /\b(?:list|show|which)\b/i) ?? '');
}

function textAfter(text: string, form: RegExp): string | undefined {
  const found = form.exec(text);
  return found === null ? undefined : text.slice(found.index + found[0].length);
}

function findReason(name: string, [runs, steps]: readonly string[]): Next {
  if (runs === undefined)
    return call('list_runs', { onlyFailed: true, ...(name === '' ? {} : { pipelineName: name }) });
  // The first one is the newest.
  const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(runs)?.[0];
  if (id === undefined) return `I find no failed run${name === '' ? '' : ` of ${name}`}. ${runs}`;
  if (steps === undefined) return call('read_steps', { pipelineExecutionId: id });
  return `The last failed run is:\n${runs.split('\n', 1)[0]}\nIts steps:\n${steps}`;
}

function explain(name: string, [list, file]: readonly string[]): Next {
  if (name === '') return 'Name the pipeline, such as: explain daily-load.';
  if (list === undefined) return call('list_pipelines');
  const found = findPipeline(list, name);
  if (found === undefined) return `There is no pipeline ${name}. The pipelines are:\n${list}`;
  if (file === undefined) return call('read_file', { path: found.path });
  return `${found.line}\nIts file:\n${file}`;
}

function validate(name: string, results: readonly string[]): Next {
  if (name === '') return results[0] ?? call('validate_pipeline');
  const [list, findings] = results;
  if (list === undefined) return call('list_pipelines');
  const found = findPipeline(list, name);
  if (found === undefined) return `There is no pipeline ${name}. The pipelines are:\n${list}`;
  return findings === undefined
    ? call('validate_pipeline', { path: found.path })
    : `${found.path}: ${findings}`;
}

/** The line of a pipeline in the list: its path without folder and extension is enough. */
function findPipeline(list: string, name: string): { path: string; line: string } | undefined {
  const bare = (path: string) => path.toLowerCase().replace(/\.(?:orch|tran)\.ya?ml$/, '');
  const expected = bare(name);
  const lines = list.split('\n').map((line) => ({ line, path: line.split(': ', 1)[0] ?? '' }));
  return (
    lines.find(({ path }) => bare(path) === expected) ??
    lines.find(({ path }) => bare(path).split('/').at(-1) === expected)
  );
}

export const ruleBasedModel: Model = {
  async ask(request) {
    const answer = follow(request);
    if (answer.text !== '') request.onText(answer.text);
    return answer;
  },
};

function follow({ conversation, tools }: ModelRequest): ModelAnswer {
  const { instruction, results } = readState(conversation);
  const rule = rules.find(({ read }) => read(instruction) !== undefined);
  if (rule === undefined) return say(abilities);
  const failed = results.find(({ isData }) => !isData);
  // A call that was not made, such as a denied one, ends what was asked for.
  if (failed !== undefined) return say(`${introduction} ${failed.text}`);
  const name = cleanName(rule.read(instruction) ?? '');
  const next = rule.next(
    name,
    results.map(({ text }) => text),
  );
  if (typeof next === 'string') return say(`${introduction} ${next}`);
  const tool = tools.find((each) => each.name === next.toolName);
  // Only the mode PLAN leaves out tools.
  if (tool === undefined)
    return say(
      `${introduction} The mode of this task is PLAN, so ${next.toolName} cannot be used. Send the message with an agentConfig that has the mode ACT.`,
    );
  const call = { id: next.toolName, toolName: tool.name, input: JSON.stringify(next.input) };
  return { ...say(''), calls: [call] };
}

/** The last instruction, and what came of the calls since. */
function readState(conversation: readonly ModelMessage[]) {
  const from = conversation.findLastIndex((each) => each.role === 'user');
  const last = conversation[from];
  return {
    instruction: last?.role === 'user' ? last.text : '',
    results: conversation.slice(from + 1).flatMap((each) => (each.role === 'results' ? each.results : [])),
  };
}

/** `the pipeline "daily load".` → `daily load` */
function cleanName(text: string): string {
  const [sentence = ''] = /^[\s\S]*[^.!?\s]/.exec(text.trim()) ?? [];
  const bare = sentence
    .replace(
      /^(?:(?:the|my|pipelines?|file|last|night's|night|run|of|all|every|everything|it)(?:\s+|$))+/i,
      '',
    )
    .replace(/(?<=\s)pipelines?$/i, '')
    .trimEnd();
  return bare.replace(/^["'`](.*)["'`]$/, '$1').trim();
}

function say(text: string): ModelAnswer {
  return { text, calls: [], inputTokens: undefined, outputTokens: undefined, end: 'complete' };
}
