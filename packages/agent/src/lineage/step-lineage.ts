/** The lineage of a step as it is reported, within the bounds of the protocol. What is left out is said. */
import type { DatasetField, OutputDataset, StepLineage } from '@headgate/contract';
import {
  lineageColumnInputsLimit,
  lineageColumnsLimit,
  lineageDatasetsLimit,
  lineageGapsLimit,
  lineageTextLimit,
} from '@headgate/contract/without-schemas';
import type { Sources, StepAnalysis, Table, WrittenTable } from '@headgate/pipelines/lineage';
import { cleanText } from '../session/clean-text.ts';

export type FoundLineage = Pick<StepLineage, 'inputs' | 'outputs' | 'gaps'>;

/** Characters of its JSON. The server keeps no columns of a longer one. */
const jsonLimit = 450_000;

export function describeLineage(analysis: StepAnalysis, gaps: readonly string[]): FoundLineage {
  const whole = render(analysis, gaps, true);
  if (JSON.stringify(whole).length <= jsonLimit) return whole;
  const reason = 'the step has too many columns, so that only its tables are listed';
  return render(analysis, [...gaps, reason], false);
}

function render(analysis: StepAnalysis, given: readonly string[], hasColumns: boolean): FoundLineage {
  const gaps = new Set([...given, ...analysis.gaps]);
  const inputs = analysis.inputs.filter(isNamed).slice(0, lineageDatasetsLimit);
  const outputs = analysis.outputs.filter(({ table }) => isNamed(table)).slice(0, lineageDatasetsLimit);
  if (inputs.length < analysis.inputs.length || outputs.length < analysis.outputs.length)
    gaps.add(`more than ${lineageDatasetsLimit} tables, or one with a name that is too long, are not listed`);
  const room = { fields: lineageColumnsLimit, inputs: lineageColumnInputsLimit };
  const places = new Map(inputs.map((table, index) => [keyOf(table), index]));
  const rendered = outputs.map((output) => renderOutput(output, places, room, hasColumns));
  const described = inputs.map((table) => ({
    ...renderPlace(table),
    ...renderFields(table, room, hasColumns),
  }));
  if (room.fields < 0 || room.inputs < 0)
    gaps.add(
      `more than ${lineageColumnsLimit} columns or ${lineageColumnInputsLimit} inputs of columns: the others are not listed`,
    );
  const listed = [...gaps].slice(0, lineageGapsLimit).map((gap) => cleanText(gap, lineageTextLimit));
  return { inputs: described, outputs: rendered, ...(listed.length === 0 ? {} : { gaps: listed }) };
}

/** What is left; less than 0 if something was left out. */
interface Room {
  fields: number;
  inputs: number;
}

const keyOf = ({ kind, name }: Pick<Table, 'kind' | 'name'>) => `${kind} ${name}`;
const isNamed = ({ name }: Table) => isText(name);
const isText = (text: string) =>
  text !== '' && text.length <= lineageTextLimit && text.isWellFormed() && !text.includes('\0');

const renderPlace = ({ kind, name }: Table) => ({ kind, name });

function renderOutput(
  { table, columns, rows, isDropped, isReplaced }: WrittenTable,
  places: ReadonlyMap<string, number>,
  room: Room,
  hasColumns: boolean,
): OutputDataset {
  const output: OutputDataset = { ...renderPlace(table), ...renderFields(table, room, hasColumns) };
  if (isDropped) output.dropped = true;
  else if (isReplaced) output.createdOrReplaced = true;
  if (columns !== undefined && hasColumns) {
    const listed = columns.filter(({ name }) => isText(name) && takeRoom(room, 'fields'));
    output.columns = listed.map(({ name, sources }) => ({
      name,
      inputs: renderSources(sources, places, room),
    }));
  }
  if (rows.size > 0 && hasColumns)
    output.decidedBy = renderSources(rows, places, room)
      .slice(0, lineageColumnsLimit)
      .map(({ dataset, field }) => ({ dataset, field }));
  return output;
}

/** Whether there is room for one more. */
function takeRoom(room: Room, what: keyof Room): boolean {
  if (room[what] > 0) {
    room[what] -= 1;
    return true;
  }
  room[what] = -1;
  return false;
}

function renderSources(sources: Sources, places: ReadonlyMap<string, number>, room: Room) {
  return [...sources.values()].flatMap(({ table, field, how }) => {
    const dataset = places.get(keyOf(table));
    if (dataset === undefined || !isText(field) || !takeRoom(room, 'inputs')) return [];
    return [{ dataset, field, transformation: how }];
  });
}

function renderFields({ fields }: Table, room: Room, hasColumns: boolean): { fields?: DatasetField[] } {
  if (fields === undefined || !hasColumns || fields.length > room.fields) return {};
  room.fields -= fields.length;
  return {
    fields: fields
      .filter(({ name }) => isText(name))
      .map(({ name, type }) => (type === undefined || !isText(type) ? { name } : { name, type })),
  };
}
