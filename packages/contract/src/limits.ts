/** Limits of values that are in many shapes. They are apart from the schemas, which an agent does not load. */

export const nameLimit = 255;
export const descriptionLimit = 2_000;
/** Characters of a text value. */
export const textLimit = 65_536;
/** Columns of a grid. */
export const gridColumnLimit = 200;
export const gridRowLimit = 10_000;
