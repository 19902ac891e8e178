/**
 * Makes a conversation shorter in steps until it fits: old results are cut, then old turns become one summary with
 * the task and all decisions, then the last turn is cut. The messages themselves stay as they are.
 */
import { estimateTokens, ModelFailed, type ModelMessage } from '../model/model.ts';
import type { Decision, Gist } from '../store/transcript.store.ts';

const oldResultLength = 400;
const oldTextLength = 1_000;
/** Turns that stay as they are at first. */
const recentTurns = 4;

/** Characters of the summary besides the decisions, and of each text in a decision. */
interface Lengths {
  lines: number;
  ofDecision: number;
}
const long: Lengths = { lines: 20_000, ofDecision: 2_000 };
const short: Lengths = { lines: 2_000, ofDecision: 60 };

export function fits(said: readonly ModelMessage[], mostTokens: number): boolean {
  return estimateTokens(JSON.stringify(said)) <= mostTokens;
}

/**
 * @param isWhole whether the conversation begins with the first message of the task
 * @throws ModelFailed `context-too-long` if the last turn alone is too long
 */
export function shorten(
  conversation: readonly ModelMessage[],
  isWhole: boolean,
  gist: Gist,
  mostTokens: number,
): ModelMessage[] {
  for (const shorter of listShorter(conversation, isWhole, gist))
    if (fits(shorter, mostTokens)) return shorter;
  throw new ModelFailed(
    'context-too-long',
    'The conversation is longer than the model takes, even after it was shortened.',
  );
}

/** From the one that keeps most. */
function* listShorter(
  whole: readonly ModelMessage[],
  isWhole: boolean,
  gist: Gist,
): Generator<ModelMessage[]> {
  for (let recent = recentTurns; recent >= 1; recent -= 1) {
    const from = findRecent(whole, recent);
    const old = whole.slice(0, from);
    const last = whole.slice(from);
    if (isWhole) yield [...old.map((each) => cutResults(each, oldResultLength)), ...last];
    for (const lengths of [long, short]) yield [summarize(gist, old, lengths), ...last];
  }
  const from = findRecent(whole, 1);
  const summary = summarize(gist, whole.slice(0, from), short);
  const last = whole.slice(from);
  for (let most = 64_000; most >= oldResultLength; most /= 2)
    yield [summary, ...last.map((each) => cutResults(each, most))];
  yield [summary, ...cutInputs(last)];
}

/** Where the last turns begin. */
function findRecent(said: readonly ModelMessage[], turns: number): number {
  let left = turns;
  for (let index = said.length - 1; index >= 0; index -= 1)
    if (said[index]?.role === 'assistant' && --left === 0) return index;
  return 0;
}

function cutResults(said: ModelMessage, most: number): ModelMessage {
  if (said.role !== 'results') return said;
  return { ...said, results: said.results.map((each) => ({ ...each, text: cut(each.text, most) })) };
}

/** Also of what was said, except for the last message. */
function cutInputs(said: readonly ModelMessage[]): ModelMessage[] {
  return said.map((each, index): ModelMessage => {
    if (each.role === 'results') return cutResults(each, oldResultLength);
    const text = index === said.length - 1 ? each.text : cut(each.text, oldTextLength);
    if (each.role === 'user') return { ...each, text };
    const calls = each.calls.map((call) => {
      const written = JSON.stringify(call.input);
      return written.length <= oldResultLength
        ? call
        : { ...call, input: { cut: cut(written, oldResultLength) } };
    });
    return { ...each, text, calls };
  });
}

function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most).toWellFormed()} [cut; read it again if you need it]`;
}

/** A text in quotes has no line of its own, so that it cannot look like what somebody else said. */
const quoteText = (text: string, most: number) => JSON.stringify(cut(text, most));

/** What was said and decided before the recent turns. */
function summarize({ task, decisions }: Gist, old: readonly ModelMessage[], lengths: Lengths): ModelMessage {
  const lines = old.flatMap(describeSaid);
  const retained: string[] = [];
  let left = lengths.lines;
  // The latest lines matter most.
  for (const line of lines.toReversed()) {
    left -= line.length;
    if (left < 0) break;
    retained.unshift(line);
  }
  const text = [
    'This is a summary of the conversation so far. What was said is in quotes.',
    `The task was: ${quoteText(task, oldTextLength)}`,
    ...(retained.length === lines.length ? [] : ['Some messages are left out here.']),
    ...retained,
    ...(decisions.length === 0 ? [] : ['The person decided:']),
    ...decisions.map((each) => describeDecision(each, lengths.ofDecision)),
  ];
  return { role: 'user', text: text.join('\n') };
}

function describeSaid(said: ModelMessage): string[] {
  if (said.role === 'results') return [];
  if (said.role === 'user') return [`The person said: ${quoteText(said.text, oldTextLength)}`];
  const text = said.text === '' ? [] : [`You said: ${quoteText(said.text, oldTextLength / 2)}`];
  const calls = said.calls.map(
    ({ toolName, input }) =>
      `You called ${quoteText(toolName, 100)} with ${quoteText(JSON.stringify(input), oldResultLength / 2)}`,
  );
  return [...text, ...calls];
}

function describeDecision({ decision, toolName, input, reason, chosen }: Decision, most: number): string {
  return [
    `${decision} ${toolName} with ${quoteText(input, most)}`,
    ...(reason === undefined ? [] : [`because ${quoteText(reason, most)}`]),
    ...(chosen === undefined ? [] : [`choosing ${quoteText(chosen, most)}`]),
  ].join(', ');
}
