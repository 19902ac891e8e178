/**
 * A variable's value by its type: TEXT a string, NUMBER a finite number, GRID columns and rows.
 */
import { type Static, Type } from 'typebox';
import { gridColumnLimit, gridRowLimit, textLimit } from '../limits.ts';
import { named } from '../named-schema.ts';
import { Name, oneOf } from '../primitives.ts';

export const variableTypes = ['TEXT', 'NUMBER', 'GRID'] as const;
export type VariableType = (typeof variableTypes)[number];
export const VariableType = named('VariableType', oneOf(variableTypes));
export const variableBehaviours = ['SHARED', 'COPIED'] as const;
export type VariableBehaviour = (typeof variableBehaviours)[number];
export const VariableBehaviour = named('VariableBehaviour', oneOf(variableBehaviours));

export const TextValue = Type.String({ maxLength: textLimit });
export const NumberValue = Type.Number();
export const GridCell = named('GridCell', Type.Union([TextValue, NumberValue, Type.Null()]));
export const GridRow = named('GridRow', Type.Array(GridCell, { maxItems: gridColumnLimit }));
export const GridValue = named(
  'GridValue',
  Type.Object({
    columns: Type.Array(Type.Object({ name: Name, type: oneOf(['TEXT', 'NUMBER']) }), {
      maxItems: gridColumnLimit,
    }),
    rows: Type.Array(GridRow, { maxItems: gridRowLimit }),
  }),
);
export type GridValue = Static<typeof GridValue>;

export const VariableValue = named(
  'VariableValue',
  Type.Union([TextValue, NumberValue, GridValue], {
    description: 'TEXT: a string. NUMBER: a number. GRID: {columns: [{name, type}], rows: [[…]]}',
  }),
);
export type VariableValue = Static<typeof VariableValue>;
