/**
 * What the process of a warehouse needs to read SQL, without the rest of this package: loading that takes longer than
 * opening DuckDB.
 */
export { convertOperands } from './convert-operands.ts';
export { SqlError } from './dialect/dialect.ts';
export { rowCountsRelation } from './rewrite/information-schema.ts';
export { createUserSql } from './rewriter.ts';
export { decodeNames, type SqlRules } from './tokens/names.ts';
export { lexicalRules, tokenize } from './tokens/tokens.ts';
export { listTypeQuestions, readNodes, type TypeQuestion } from './variant-questions.ts';
export {
  findVariantUses,
  isTextType,
  isVariantType,
  type VariantUse,
  writeLandingRows,
  writeUses,
} from './variant-uses.ts';
