/** Why a tool cannot do what it was asked for, in words for the model. The call had no effect. */
export class ToolFault extends Error {}
