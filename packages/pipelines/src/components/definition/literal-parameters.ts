/** Parameters of a component that are used as they are written: `${…}` in them is plain text. */
import type { PlainMap } from '../../format/pipeline.ts';
import type { ComponentDefinition } from './component.ts';

/** The parameters without those that are used as they are written. */
export function omitLiteralParameters(parameters: PlainMap, definition: ComponentDefinition): PlainMap {
  const literal = listLiteralParameters(parameters, definition);
  if (literal.length === 0) return parameters;
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !literal.includes(name)));
}

export function listLiteralParameters(
  parameters: PlainMap,
  definition: ComponentDefinition,
): readonly string[] {
  if (definition.kind !== 'orchestration') return [];
  return definition.listLiteral?.(parameters) ?? [];
}
