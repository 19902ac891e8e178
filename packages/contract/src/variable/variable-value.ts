/**
 * A variable's value by its type (decisions.md E3): TEXT a string, NUMBER a finite number, GRID columns and rows.
 */
import { type Static, Type } from 'typebox';
import { Name, oneOf, textLimit } from '../primitives.ts';

export const variableTypes = ['TEXT', 'NUMBER', 'GRID'] as const;
export type VariableType = (typeof variableTypes)[number];
export const variableBehaviours = ['SHARED', 'COPIED'] as const;
export type VariableBehaviour = (typeof variableBehaviours)[number];

export const gridColumnLimit = 200;
export const gridRowLimit = 10_000;

export const TextValue = Type.String({ maxLength: textLimit });
export const NumberValue = Type.Number();
export const GridCell = Type.Union([TextValue, NumberValue, Type.Null()]);
export const GridRow = Type.Array(GridCell, { maxItems: gridColumnLimit });
export const GridValue = Type.Object({
  columns: Type.Array(Type.Object({ name: Name, type: oneOf(['TEXT', 'NUMBER']) }), {
    maxItems: gridColumnLimit,
  }),
  rows: Type.Array(GridRow, { maxItems: gridRowLimit }),
});
export type GridValue = Static<typeof GridValue>;

export const VariableValue = Type.Union([TextValue, NumberValue, GridValue], {
  description: 'TEXT: a string; NUMBER: a finite number; GRID: {columns: [{name, type}], rows: [[…]]}',
});
export type VariableValue = Static<typeof VariableValue>;
