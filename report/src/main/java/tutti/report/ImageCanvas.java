package tutti.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import javax.imageio.ImageIO;

/**
 * Draws pixels, with the Java runtime's own Java 2D and no screen: what is drawn are lines and words, for which a
 * library would bring nothing, and the SVG's style sheet would have to be understood by one that read it.
 */
final class ImageCanvas implements Canvas {
    private static final int SCALE = 2;
    private static final int[] COLOURS = {0x3566c8, 0xd1661f, 0x1f8a70, 0xa0459b, 0xb58a00, 0xc43c5c, 0x4f8fb5,
            0x6b7280};
    private static final Color TEXT = new Color(0x4a5159);
    private static final Color TITLE = new Color(0x1b1f24);
    private static final Color GRID = new Color(0xdde1e6);
    private static final float LINE = 1.9f;
    private static final double DOT = 6;
    /** Length of a line that is a point. */
    private static final double ALONE = 0.1;

    private final BufferedImage image;
    private final Graphics2D graphics;

    /** White. */
    ImageCanvas(int width, int height) {
        System.setProperty("java.awt.headless", "true");
        try {
            image = new BufferedImage(SCALE * width, SCALE * height, BufferedImage.TYPE_INT_RGB);
            graphics = image.createGraphics();
            graphics.setFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
            graphics.getFontMetrics();
        } catch (LinkageError | RuntimeException cannot) {
            throw new IllegalStateException("this Java runtime cannot draw pictures (" + cannot
                    + "): it needs the module java.desktop, fontconfig and a font", cannot);
        }
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
        graphics.scale(SCALE, SCALE);
        graphics.setColor(Color.WHITE);
        graphics.fillRect(0, 0, width, height);
    }

    /** The file. */
    byte[] png() {
        graphics.dispose();
        try (ByteArrayOutputStream out = new ByteArrayOutputStream()) {
            if (!ImageIO.write(image, "png", out)) {
                throw new IllegalStateException("this Java runtime writes no PNG");
            }
            return out.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void title(double x, double y, String text) {
        graphics.setColor(TITLE);
        graphics.setFont(new Font(Font.SANS_SERIF, Font.BOLD, 14));
        graphics.drawString(text, (float) x, (float) y);
        graphics.setFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
    }

    @Override
    public void text(Align align, double x, double y, String text) {
        graphics.setColor(TEXT);
        double width = graphics.getFontMetrics().getStringBounds(text, graphics).getWidth();
        double left = switch (align) {
            case START -> x;
            case MIDDLE -> x - width / 2;
            case END -> x - width;
        };
        graphics.drawString(text, (float) left, (float) y);
    }

    @Override
    public void upwards(double x, double y, String text) {
        Graphics2D turned = (Graphics2D) graphics.create();
        turned.setColor(TEXT);
        turned.rotate(-Math.PI / 2);
        double width = turned.getFontMetrics().getStringBounds(text, turned).getWidth();
        turned.drawString(text, (float) (-y - width / 2), (float) x);
        turned.dispose();
    }

    @Override
    public void grid(double fromX, double fromY, double toX, double toY) {
        graphics.setColor(GRID);
        graphics.setStroke(new BasicStroke(1));
        graphics.draw(new Line2D.Double(fromX, fromY, toX, toY));
    }

    @Override
    public void curve(int colour, boolean dashed, String name, double[] x, double[] y) {
        Path2D path = new Path2D.Double();
        boolean down = false;
        for (int i = 0; i < x.length; i++) {
            if (Double.isNaN(y[i])) {
                down = false;
            } else if (down) {
                path.lineTo(x[i], y[i]);
            } else {
                path.moveTo(x[i], y[i]);
                path.lineTo(x[i] + ALONE, y[i]);
                down = true;
            }
        }
        graphics.setColor(new Color(COLOURS[colour]));
        graphics.setStroke(new BasicStroke(LINE, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1,
                dashed ? new float[]{5, 4} : null, 0));
        graphics.draw(path);
    }

    @Override
    public void dot(int colour, double x, double y) {
        graphics.setColor(new Color(COLOURS[colour]));
        graphics.fill(new Ellipse2D.Double(x - DOT / 2, y - DOT / 2, DOT, DOT));
    }
}
