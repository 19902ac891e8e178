/** The conversation that a model gets, from the messages of a task. */
import type { AiMessageData } from '@headgate/contract';
import { hideSecrets } from '../../ai-tools/index.ts';
import type { ModelMessage } from '../model/model.ts';
import { askUser } from '../model/tool-set.ts';
import type { TranscriptRow } from '../store/transcript.store.ts';

type Turn = Extract<ModelMessage, { role: 'assistant' }> & {
  calls: { id: string; toolName: string; input: object }[];
};
type Results = Extract<ModelMessage, { role: 'results' }> & {
  results: { id: string; toolName: string; text: string; isData: boolean }[];
};
interface PlacedMessages {
  place: number;
  messages: ModelMessage[];
}

/**
 * Puts the results of calls right after the calls, and an answer before what people said after the model was asked:
 * what is to be answered stands last.
 */
export function buildConversation(rows: readonly TranscriptRow[]): ModelMessage[] {
  const placed: PlacedMessages[] = [];
  const turns = new Map<string, { turn: Turn; results: Results }>();
  const open = ({ group_id: groupId, position, through_position: through }: TranscriptRow) => {
    const known = turns.get(groupId);
    if (known !== undefined) return known;
    const made = {
      turn: { role: 'assistant' as const, text: '', calls: [] },
      results: { role: 'results' as const, results: [] },
    };
    turns.set(groupId, made);
    placed.push({ place: (through ?? position) + 0.5, messages: [made.turn, made.results] });
    return made;
  };
  for (const row of rows) {
    const { data, position } = row;
    if (data.type === 'user')
      placed.push({ place: position, messages: [{ role: 'user', text: hideSecrets(data.text) }] });
    else if (data.type === 'assistant') open(row).turn.text += data.text;
    else if (data.type === 'tool-call')
      open(row).turn.calls.push({ id: data.toolId, toolName: data.toolName, input: data.toolInput });
    else if (data.type === 'tool-result') open(row).results.results.push(renderResult(data));
  }
  return placed
    .toSorted((one, other) => one.place - other.place)
    .flatMap(({ messages: said }) => said)
    .filter((each) => each.role !== 'results' || each.results.length > 0);
}

function renderResult({ toolId, toolName, outcome, text }: AiMessageData & { type: 'tool-result' }) {
  // A person's answer and reason are no data of a tool.
  const isOfPerson = outcome === 'DENIED' || toolName === askUser;
  const shown = isOfPerson ? hideSecrets(text) : text;
  const isData = (outcome === 'DONE' || outcome === 'FAILED') && toolName !== askUser;
  return { id: toolId, toolName, text: shown === '' ? '(nothing)' : shown, isData };
}
