/**
 * The names that an expression knows. `sysvar` with all that is in it, and each grid, refuse to read a member that they do not have: a
 * misspelled one would be an empty text.
 */
import type { QuickJSContext } from 'quickjs-emscripten';
import { nearestName } from './nearest.ts';
import { isGrid, type Variable } from './variables.ts';

export interface ExpressionScope {
  readonly variables: readonly Variable[];
  /** `${sysvar.…}`: maps of texts and numbers. */
  readonly sysvar: Readonly<Record<string, unknown>>;
}

/** The name of the error of a member that does not exist; its message is the path of the object and the member, as JSON. */
export const memberError = 'MemberError';

/** @returns false when they do not fit into the memory of an expression. */
export function defineGlobals(context: QuickJSContext, expression: string, scope: ExpressionScope): boolean {
  const { globals, grids } = globalsOf(expression, scope);
  const text = context.newString(JSON.stringify({ globals, guarded: [...grids, 'sysvar'] }));
  context.setProp(context.global, '__globals', text);
  text.dispose();
  const result = context.evalCode(definition);
  if (result.error !== undefined) {
    result.error.dispose();
    return false;
  }
  result.value.dispose();
  return true;
}

// JSON.stringify asks for toJSON. The columns of a grid are lists, and stay as they are.
const definition = `{
  const { globals, guarded } = JSON.parse(__globals);
  delete globalThis.__globals;
  const { stringify } = JSON;
  const { get, set } = Reflect;
  const guard = (object, path) => {
    for (const name of Object.keys(object)) {
      const inner = object[name];
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) object[name] = guard(inner, [...path, name]);
    }
    return new Proxy(object, {
      get(target, member, receiver) {
        if (typeof member === 'symbol' || member in target || member === 'toJSON') return get(target, member, receiver);
        const error = new Error(stringify([path, member]));
        error.name = '${memberError}';
        throw error;
      },
    });
  };
  for (const name of Object.keys(globals)) {
    const value = guarded.includes(name) ? guard(globals[name], [name]) : globals[name];
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true });
  }
}`;

/** A grid becomes a global only of an expression that names it: it may hold thousands of rows. */
function globalsOf(expression: string, scope: ExpressionScope) {
  const globals = new Map<string, unknown>();
  const grids = new Set<string>();
  for (const { name, value } of scope.variables) {
    if (!isGrid(value)) globals.set(name, value);
    else if (expression.includes(name)) {
      const columns = value.columns.map((column, index) => [
        column.name,
        value.rows.map((row) => row[index] ?? null),
      ]);
      globals.set(name, Object.fromEntries(columns));
      grids.add(name);
    }
  }
  globals.set('sysvar', scope.sysvar);
  return { globals: Object.fromEntries(globals), grids: [...grids].filter((name) => name !== 'sysvar') };
}

/** What a MemberError says: the nearest name, or the names that there are. */
export function explainMember(message: string, scope: ExpressionScope): string {
  const read = readMember(message);
  if (read === undefined) return 'the expression reads a member that does not exist';
  const { path, member } = read;
  const grid = scope.variables.find(({ name }) => name === path[0])?.value;
  const isOfGrid = path[0] !== 'sysvar' && grid !== undefined && isGrid(grid);
  const names = isOfGrid
    ? grid.columns.map(({ name }) => name)
    : Object.keys(innerOf(scope.sysvar, path.slice(1)));
  const nearest = nearestName(member, names);
  const remedy =
    nearest === undefined ? `it has ${names.slice(0, 20).join(', ')}` : `did you mean "${nearest}"?`;
  const what = isOfGrid ? `the grid variable "${path[0]}" has no column` : `${path.join('.')} has no member`;
  return `${what} "${member}": ${remedy}`;
}

function readMember(message: string): { path: string[]; member: string } | undefined {
  try {
    const [path, member]: unknown[] = JSON.parse(message);
    if (!Array.isArray(path) || typeof member !== 'string') return undefined;
    return { path: path.map(String), member };
  } catch {
    // Cut, or an error of the expression's own of the same name.
    return undefined;
  }
}

function innerOf(
  object: Readonly<Record<string, unknown>>,
  path: readonly string[],
): Readonly<Record<string, unknown>> {
  const [first, ...rest] = path;
  if (first === undefined) return object;
  const inner = Object.hasOwn(object, first) ? object[first] : undefined;
  return typeof inner === 'object' && inner !== null ? innerOf(inner as Record<string, unknown>, rest) : {};
}
