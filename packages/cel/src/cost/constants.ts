/** The cost of creating a list, a map or an object, without its parts. */
export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;

/** For each character of a string that is traversed. */
export const TRAVERSAL = 0.1;
/** For each character of a pattern; multiplies the cost of the string. */
export const PATTERN = 0.25;

/** The cost of one authorization check, which allows an expression to make two. */
export const AUTHORIZATION = 350_000;
