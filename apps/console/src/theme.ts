import { createTheme, Modal, Tooltip } from '@mantine/core';

export const theme = createTheme({
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  components: {
    Modal: Modal.extend({ defaultProps: { transitionProps: { duration: 90 } } }),
    // Also for people who have no pointer to hover with.
    Tooltip: Tooltip.extend({
      defaultProps: { events: { hover: true, focus: true, touch: true }, openDelay: 300, transitionProps: { duration: 80 } },
    }),
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', comboboxProps: { transitionProps: { duration: 80 } } } },
    Menu: { defaultProps: { transitionProps: { duration: 80 }, position: 'bottom-end' } },
  },
});
