/** Strings are valid Unicode, without NUL and lone surrogates. */
import type { Fault } from './faults.ts';
import { type Path, renderPointer } from './json-schema.ts';

/** Finds the first string or member name that is not valid text. */
export function findTextFault(value: unknown, path?: Path): Fault | undefined {
  if (typeof value === 'string') {
    const detail = describeTextFault(value);
    return detail === undefined ? undefined : { pointer: renderPointer(path), detail };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = findTextFault(value[index], { above: path, key: index });
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const detail = describeTextFault(key);
    if (detail !== undefined)
      return { pointer: renderPointer(path), detail: `has a member whose name ${detail}` };
    const fault = findTextFault((value as Record<string, unknown>)[key], { above: path, key });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function describeTextFault(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL';
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate';
}
