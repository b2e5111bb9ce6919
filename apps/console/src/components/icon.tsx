import type { SVGProps } from 'react';

/** Drawn on a grid of 16, with strokes of 1.4. */
const paths = {
  home: 'M2.5 7.2 8 2.6l5.5 4.6v5.9a.6.6 0 0 1-.6.6H9.7V9.8H6.3v3.9H3.1a.6.6 0 0 1-.6-.6Z',
  unit: 'M4.2 4.2h7.6v7.6H4.2ZM6.6 6.6h2.8v2.8H6.6ZM6 1.8v2.4M10 1.8v2.4M6 11.8v2.4M10 11.8v2.4M1.8 6h2.4M1.8 10h2.4M11.8 6h2.4M11.8 10h2.4',
  storage:
    'M2.6 4.2c0-1.1 2.4-2 5.4-2s5.4.9 5.4 2-2.4 2-5.4 2-5.4-.9-5.4-2ZM2.6 4.2v7.6c0 1.1 2.4 2 5.4 2s5.4-.9 5.4-2V4.2M2.6 8c0 1.1 2.4 2 5.4 2s5.4-.9 5.4-2',
  allocation: 'M2.4 4h11.2M2.4 8h7.2M2.4 12h4.2M11.4 9.4v4.2M9.3 11.5h4.2',
  fleet: 'M2.4 2.8h11.2v4H2.4ZM2.4 9.2h11.2v4H2.4ZM4.8 4.8h.1M4.8 11.2h.1M7.4 4.8h3.8M7.4 11.2h3.8',
  tenancy: 'M6.9 1.9h2.2v2.6H6.9ZM1.9 11.4h2.6V14H1.9ZM6.7 11.4h2.6V14H6.7ZM11.5 11.4h2.6V14h-2.6ZM8 4.5v6.9M3.2 11.4V8h9.6v3.4',
  api: 'M5.4 4.2 1.8 8l3.6 3.8M10.6 4.2 14.2 8l-3.6 3.8M9.1 2.6 6.9 13.4',
  app: 'M2.4 2.4h4.4v4.4H2.4ZM9.2 2.4h4.4v4.4H9.2ZM2.4 9.2h4.4v4.4H2.4ZM9.2 9.2h4.4v4.4H9.2Z',
  catalog: 'M3 2.4h8.4a1.6 1.6 0 0 1 1.6 1.6v9.6H4.6A1.6 1.6 0 0 1 3 12ZM3 12a1.6 1.6 0 0 1 1.6-1.6H13M6 5.2h4.2',
  search: 'M7.2 12.2a5 5 0 1 0 0-10 5 5 0 0 0 0 10ZM10.9 10.9l3 3',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1',
  moon: 'M13.4 9.6A5.8 5.8 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7Z',
  menu: 'M2.4 4.4h11.2M2.4 8h11.2M2.4 11.6h11.2',
  close: 'M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4',
  chevron: 'M5 6.4 8 9.4l3-3',
  right: 'M6.4 4.6 9.8 8l-3.4 3.4',
  plus: 'M8 3v10M3 8h10',
  play: 'M4.8 3.2v9.6L12.6 8Z',
  stop: 'M4.2 4.2h7.6v7.6H4.2Z',
  trash: 'M3 4.4h10M6.2 4.4V2.8h3.6v1.6M4.3 4.4l.6 9h6.2l.6-9M6.8 7v4M9.2 7v4',
  copy: 'M5.6 5.6h7.8v7.8H5.6ZM10.4 5.6V2.6H2.6v7.8h3',
  check: 'M3 8.6l3.2 3.2L13 5',
  download: 'M8 2.4v7.4M4.8 6.8 8 10l3.2-3.2M2.8 13.4h10.4',
  terminal: 'M2.2 3h11.6v10H2.2ZM4.6 6l2 2-2 2M8 10.2h3',
  warning: 'M8 2.4 14.4 13.4H1.6ZM8 6.4v3.4M8 11.6h.1',
  more: 'M3.4 8h.1M8 8h.1M12.6 8h.1',
  switch: 'M4.6 6 8 2.8 11.4 6M4.6 10 8 13.2 11.4 10',
  leave: 'M6.4 2.8H2.8v10.4h3.6M10 5l3 3-3 3M13 8H6.2',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.2v2.9h-2.9',
  pause: 'M5.4 3.4v9.2M10.6 3.4v9.2',
} as const;

export type IconName = keyof typeof paths;

/** Decoration: what it means is always written beside it, or is the label of the button around it. */
export function Icon({ name, size = 16, ...rest }: { readonly name: IconName; readonly size?: number } & SVGProps<SVGSVGElement>) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      {...rest}
    >
      <path d={paths[name]} />
    </svg>
  );
}
