/** Values for the variables of a pipeline that a caller sets: those that have none by themselves. */
import { parse } from 'yaml';
import type { Inputs } from './supplies.ts';
import { guessCell, guessValue } from './values.ts';

interface Variable {
  metadata?: {
    type?: unknown;
    visibility?: unknown;
    columns?: Readonly<Record<string, { columnType?: unknown } | null>>;
  };
  defaultValue?: unknown;
}

export function readInputs(text: string): Inputs {
  const scalars: Record<string, string> = {};
  const grids: Record<string, string[][]> = {};
  let content: { pipeline?: { variables?: Record<string, Variable | null> } } | null;
  try {
    content = parse(text);
  } catch {
    return { scalars, grids };
  }
  for (const [name, variable] of Object.entries(content?.pipeline?.variables ?? {})) {
    const { type, visibility, columns = {} } = variable?.metadata ?? {};
    const { defaultValue } = variable ?? {};
    const isEmpty = Array.isArray(defaultValue) ? defaultValue.length === 0 : (defaultValue ?? '') === '';
    if (!isEmpty || visibility === 'PRIVATE') continue;
    if (type === 'GRID')
      grids[name] = [0, 1].map((row) =>
        Object.entries(columns ?? {}).map(([column, about]) =>
          about?.columnType === 'NUMBER' ? String(row + 1) : guessCell(column, row),
        ),
      );
    else scalars[name] = type === 'NUMBER' ? '1' : guessValue(name);
  }
  return { scalars, grids };
}
