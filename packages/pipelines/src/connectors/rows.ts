/** Finds the rows of a page. */
import { shorten } from '../format/template.ts';
import { ConnectorError, type ConnectorStructure, type JsonSchema } from './profile.ts';
import { isJsonMap } from './profile-reader.ts';

/** What a page holds. */
export interface PageRows {
  rows: unknown[];
  /** What the API counts: the elements of the outermost list, each of which may hold several rows or none. */
  elements: readonly unknown[];
  /** The page is a list around other lists, so it is not clear which of them the API counts. */
  isNestedList: boolean;
}

/**
 * The elements at `repeatingElementPath`, in order. A list on the way is walked element by element.
 *
 * @throws ConnectorError if the page has another structure. A member may be absent if the schema does not
 * require it: some APIs leave empty lists out.
 */
export function readPageRows(page: unknown, structure: ConnectorStructure): PageRows {
  const { containedInOuterArray, repeatingElementPath: path, schema } = structure;
  if (containedInOuterArray && !Array.isArray(page))
    throw new ConnectorError(`the response is ${describe(page)}, but its profile says that it is a list`);
  // Some servers write an empty list as null.
  if (page === null && path.length === 0) return { rows: [], elements: [], isNestedList: false };
  let level: unknown[] = Array.isArray(page) ? page : [page];
  let elements = Array.isArray(page) ? page : undefined;
  let isNestedList = false;
  let levelSchema: JsonSchema | undefined = schema?.items ?? schema;
  for (const [index, name] of path.entries()) {
    const isRequired = levelSchema?.properties?.[name] === undefined || isIn(levelSchema.required, name);
    const place = path.slice(0, index + 1).join('.');
    const members = level.flatMap((value) => readMember(value, name, place, isRequired));
    level = members.flat();
    const isList = members.some(Array.isArray);
    isNestedList ||= isList && elements === page;
    if (isList) elements ??= level;
    const next = levelSchema?.properties?.[name];
    levelSchema = next?.items ?? next;
  }
  // A list of one object is often only a wrapper.
  const isWrapper = isNestedList && elements?.length === 1;
  return { rows: level, elements: isWrapper ? level : (elements ?? level), isNestedList };
}

/** The rows alone. @throws ConnectorError as `readPageRows` */
export const rowsOf = (page: unknown, structure: ConnectorStructure): unknown[] =>
  readPageRows(page, structure).rows;

const isIn = (names: readonly string[] | undefined, name: string) => names?.includes(name) ?? false;

/** No value, or the member. */
function readMember(value: unknown, name: string, place: string, isRequired: boolean): unknown[] {
  if (!isJsonMap(value))
    throw new ConnectorError(
      `the response has no "${place}": it is ${describe(value)} there: correct repeatingElementPath`,
    );
  if (!Object.hasOwn(value, name)) {
    if (!isRequired) return [];
    const members = Object.keys(value)
      .slice(0, 10)
      .map((each) => `"${shorten(each)}"`);
    throw new ConnectorError(
      `the response has no "${place}"; it has ${members.length === 0 ? 'no members' : members.join(', ')}: correct repeatingElementPath`,
    );
  }
  const member = value[name];
  if (member === null) return [];
  return [member];
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The member at a path of names; undefined if there is none. */
export function readAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (!isJsonMap(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}
