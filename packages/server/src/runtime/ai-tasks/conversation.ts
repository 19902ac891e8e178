/**
 * The conversation that a model gets, from the messages of a task.
 *
 * A conversation that is too long is made shorter in steps: old results are cut, then old turns become one
 * summary, which keeps what people said and decided. The messages themselves stay as they are.
 */
import type { AiMessageData } from '@headgate/contract';
import type { MessageRow } from './message.store.ts';
import { estimateTokens, ModelFailed, type Said } from './model.ts';
import { askUser } from './tool-set.ts';

type Turn = Extract<Said, { role: 'assistant' }> & {
  calls: { id: string; toolName: string; input: object }[];
};
type Results = Extract<Said, { role: 'results' }> & {
  results: { id: string; toolName: string; text: string; isData: boolean }[];
};

/** Puts the results of calls right after the calls, whatever people said in between. */
export function buildConversation(rows: readonly MessageRow[]): Said[] {
  const said: Said[] = [];
  const turns = new Map<string, { turn: Turn; results: Results }>();
  const open = (groupId: string) => {
    const known = turns.get(groupId);
    if (known !== undefined) return known;
    const made = {
      turn: { role: 'assistant' as const, text: '', calls: [] },
      results: { role: 'results' as const, results: [] },
    };
    turns.set(groupId, made);
    said.push(made.turn, made.results);
    return made;
  };
  for (const { group_id: groupId, data } of rows) {
    if (data.type === 'user') said.push({ role: 'user', text: data.text });
    else if (data.type === 'assistant') open(groupId).turn.text += data.text;
    else if (data.type === 'tool-call')
      open(groupId).turn.calls.push({ id: data.toolId, toolName: data.toolName, input: data.toolInput });
    else if (data.type === 'tool-result') open(groupId).results.results.push(renderResult(data));
  }
  return said.filter((each) => each.role !== 'results' || each.results.length > 0);
}

function renderResult({ toolId, toolName, outcome, text }: AiMessageData & { type: 'tool-result' }) {
  // A person's answer and reason are no data of a tool.
  const isData = (outcome === 'DONE' || outcome === 'FAILED') && toolName !== askUser;
  return { id: toolId, toolName, text: text === '' ? '(nothing)' : text, isData };
}

const keptOfOldResult = 400;
const keptOfText = 1_000;
const keptOfSummary = 20_000;
/** Turns that stay as they are at first. */
const recentTurns = 4;

export interface Fitted {
  conversation: Said[];
  isCompacted: boolean;
}

/** @throws ModelFailed `context-too-long` if the last turn alone is too long */
export function fitConversation(rows: readonly MessageRow[], mostTokens: number): Fitted {
  const whole = buildConversation(rows);
  const fits = (said: readonly Said[]) => estimateTokens(JSON.stringify(said)) <= mostTokens;
  if (fits(whole)) return { conversation: whole, isCompacted: false };
  for (let recent = recentTurns; recent >= 1; recent -= 1) {
    const from = findRecent(whole, recent);
    const shorter = [
      ...whole.slice(0, from).map((each) => cutResults(each, keptOfOldResult)),
      ...whole.slice(from),
    ];
    if (fits(shorter)) return { conversation: shorter, isCompacted: true };
    const summary: Said = { role: 'user', text: summarize(rows, whole.slice(0, from)) };
    const summarized = [summary, ...whole.slice(from)];
    if (fits(summarized)) return { conversation: summarized, isCompacted: true };
    if (recent === 1) return { conversation: cutToFit(summary, whole.slice(from), fits), isCompacted: true };
  }
  throw tooLong();
}

/** Where the last turns begin. */
function findRecent(said: readonly Said[], turns: number): number {
  let left = turns;
  for (let index = said.length - 1; index >= 0; index -= 1)
    if (said[index]?.role === 'assistant' && --left === 0) return index;
  return 0;
}

function cutResults(said: Said, most: number): Said {
  if (said.role !== 'results') return said;
  return { ...said, results: said.results.map((each) => ({ ...each, text: cut(each.text, most) })) };
}

function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most).toWellFormed()} [cut; read it again if you need it]`;
}

function cutToFit(summary: Said, last: readonly Said[], fits: (said: readonly Said[]) => boolean): Said[] {
  for (let most = 64_000; most >= keptOfOldResult; most /= 2) {
    const shorter = [summary, ...last.map((each) => cutResults(each, most))];
    if (fits(shorter)) return shorter;
  }
  throw tooLong();
}

const tooLong = () =>
  new ModelFailed(
    'context-too-long',
    'The conversation is longer than the model takes, even after it was shortened.',
  );

/** What was said and decided before the recent turns. */
function summarize(rows: readonly MessageRow[], old: readonly Said[]): string {
  const lines = ['This is a summary of the conversation so far.'];
  for (const each of old) {
    if (each.role === 'user') lines.push(`The person said: ${cut(each.text, keptOfText)}`);
    else if (each.role === 'assistant') {
      if (each.text !== '') lines.push(`You said: ${cut(each.text, keptOfText / 2)}`);
      for (const { toolName, input } of each.calls)
        lines.push(`You called ${toolName} ${cut(JSON.stringify(input), keptOfOldResult / 2)}`);
    }
  }
  const decisions = describeDecisions(rows);
  if (decisions.length > 0) lines.push('The person decided:', ...decisions);
  const [first = '', ...rest] = lines;
  // The latest lines and all decisions matter most; the first message is the task itself.
  const text = rest.join('\n');
  const kept = text.length <= keptOfSummary ? text : text.slice(text.length - keptOfSummary);
  const task = old.find((each) => each.role === 'user');
  const begin = task === undefined || kept === text ? '' : `The task was: ${cut(task.text, keptOfText)}\n`;
  return `${first}\n${begin}${kept.toWellFormed()}`;
}

function describeDecisions(rows: readonly MessageRow[]): string[] {
  const calls = new Map<string, string>();
  return rows.flatMap(({ data }) => {
    if (data.type === 'tool-call')
      calls.set(data.toolId, `${data.toolName} ${cut(JSON.stringify(data.toolInput), keptOfOldResult / 2)}`);
    if (data.type !== 'decision') return [];
    const why = data.reason === undefined ? '' : `: ${data.reason}`;
    const chosen = data.answers?.map(({ selectedOptions }) => selectedOptions.join(', ')).join('; ');
    return [
      `${data.decision} ${calls.get(data.toolId) ?? ''}${why}${chosen === undefined ? '' : `: ${chosen}`}`,
    ];
  });
}
